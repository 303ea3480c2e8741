#include "physics.hpp"

#include <algorithm>
#include <thread>

namespace sluice::contended {

TimePoint Server::enter(TimePoint now, Duration service) {
  free_ = std::max(now, free_) + service;
  busy_ += service;
  return free_;
}

Physics::Physics(const Parameters& parameters)
    : parameters_(parameters), targets_(parameters.targets), lock_servers_(parameters.targets) {
  counters_.targets.resize(parameters.targets);
}

std::unique_ptr<StripedFile> Physics::make_file() {
  auto file = std::make_unique<StripedFile>();
  const std::lock_guard lock(mutex_);
  file->first_target = next_target_;
  next_target_ = (next_target_ + 1) % parameters_.targets;
  return file;
}

std::vector<Physics::Piece> Physics::pieces_of(const StripedFile& file, std::uint64_t offset,
                                               std::uint64_t length) const {
  std::vector<Piece> pieces;
  const std::uint64_t end = offset + length;
  while (offset < end) {
    const std::uint64_t stripe = offset / parameters_.stripe_bytes;
    const std::uint64_t stop = std::min(end, (stripe + 1) * parameters_.stripe_bytes);
    const auto target = static_cast<unsigned>((file.first_target + stripe) % parameters_.targets);
    pieces.push_back({stripe, target, stop - offset});
    offset = stop;
  }
  return pieces;
}

void Physics::acquire(Piece& piece, Client client) {
  StripeLock& lock = *piece.lock;
  std::unique_lock guard(mutex_);
  const std::uint64_t ticket = lock.next_ticket++;
  lock.changed.wait(
      guard, [&] { return lock.serving == ticket && (lock.writes == 0 || lock.owner == client); });
  if (lock.is_owned && lock.owner != client) {
    ++counters_.hand_overs;
    // Nobody else is served before this ticket is through, so the mutex may be let go of meanwhile.
    const TimePoint arrived = lock.arrived;
    guard.unlock();
    std::this_thread::sleep_until(arrived);
    guard.lock();
    const TimePoint granted =
        lock_servers_[piece.target].enter(Clock::now(), duration_of(parameters_.lock_s));
    guard.unlock();
    std::this_thread::sleep_until(granted);
    guard.lock();
    lock.held_bytes = 0;
  }
  lock.is_owned = true;
  lock.owner = client;
  ++lock.writes;
  ++lock.serving;
  lock.changed.notify_all();
}

void Physics::release(StripeLock& lock) {
  const std::lock_guard guard(mutex_);
  --lock.writes;
  lock.changed.notify_all();
}

void Physics::wait_for_room(const Piece& piece, Client client) {
  std::unique_lock guard(mutex_);
  std::vector<OnWay>& mine = on_way_[client];
  mine.resize(parameters_.targets);
  OnWay& there = mine[piece.target];
  while (true) {
    while (!there.pieces.empty() && there.pieces.front().first <= Clock::now()) {
      there.bytes -= there.pieces.front().second;
      there.pieces.pop_front();
    }
    if (there.pieces.empty() || there.bytes + piece.bytes <= parameters_.dirty_bytes) {
      return;
    }
    const TimePoint next = there.pieces.front().first;
    guard.unlock();
    std::this_thread::sleep_until(next);
    guard.lock();
  }
}

double Physics::write_s(const Piece& piece) const {
  // Of a part of a stripe the rest is read first, or as much as is written where that is less.
  const auto whole_bytes = [&](std::uint64_t part) {
    return std::min(2 * part, std::max(part, parameters_.stripe_bytes));
  };
  const std::uint64_t before = piece.lock->held_bytes;
  const std::uint64_t moved = whole_bytes(before + piece.bytes) - whole_bytes(before);
  return static_cast<double>(moved) / parameters_.bandwidth_bytes_per_s;
}

void Physics::enter_target(Piece& piece, double service_s, std::uint64_t TargetCounters::*moved) {
  piece.done = targets_[piece.target].enter(Clock::now(), duration_of(service_s)) +
               duration_of(parameters_.latency_s);
  counters_.targets[piece.target].*moved += piece.bytes;
  ++counters_.targets[piece.target].requests;
}

void Physics::write(StripedFile& file, Client client, const Write& write,
                    const std::function<void()>& work) {
  std::vector<Piece> pieces = pieces_of(file, write.offset, write.length);
  for (Piece& piece : pieces) {
    {
      const std::lock_guard guard(mutex_);
      piece.lock = &file.locks[piece.stripe];
    }
    acquire(piece, client);
  }
  for (Piece& piece : pieces) {
    wait_for_room(piece, client);
    const std::lock_guard guard(mutex_);
    enter_target(piece, write_s(piece), &TargetCounters::written_bytes);
    piece.lock->held_bytes += piece.bytes;
    piece.lock->arrived = std::max(piece.lock->arrived, piece.done);
    OnWay& there = on_way_[client][piece.target];
    there.pieces.emplace_back(piece.done, piece.bytes);
    there.bytes += piece.bytes;
  }
  work();
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.done < b.done; });
  for (const Piece& piece : pieces) {
    if (write.is_direct) {
      std::this_thread::sleep_until(piece.done);
    }
    release(*piece.lock);
  }
}

void Physics::read(StripedFile& file, std::uint64_t offset, std::uint64_t length,
                   const std::function<void()>& work) {
  std::vector<Piece> pieces = pieces_of(file, offset, length);
  {
    const std::lock_guard guard(mutex_);
    for (Piece& piece : pieces) {
      const double service_s = static_cast<double>(piece.bytes) / parameters_.bandwidth_bytes_per_s;
      enter_target(piece, service_s, &TargetCounters::read_bytes);
    }
  }
  work();
  for (const Piece& piece : pieces) {
    std::this_thread::sleep_until(piece.done);
  }
}

void Physics::metadata_turn() {
  TimePoint done;
  {
    const std::lock_guard guard(mutex_);
    done = metadata_.enter(Clock::now(), duration_of(parameters_.metadata_s));
    ++counters_.metadata_turns;
  }
  std::this_thread::sleep_until(done);
}

void Physics::open() {
  {
    const std::lock_guard guard(mutex_);
    ++counters_.opens;
  }
  metadata_turn();
}

void Physics::note_create() {
  const std::lock_guard guard(mutex_);
  ++counters_.creates;
}

void Physics::sync(Client client) {
  TimePoint done = Clock::now();
  {
    const std::lock_guard guard(mutex_);
    const auto found = on_way_.find(client);
    if (found != on_way_.end()) {
      for (const OnWay& there : found->second) {
        done = there.pieces.empty() ? done : std::max(done, there.pieces.back().first);
      }
    }
  }
  std::this_thread::sleep_until(done + duration_of(parameters_.latency_s));
}

Counters Physics::counters() const {
  const std::lock_guard guard(mutex_);
  Counters found = counters_;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    found.targets[i].busy_s = std::chrono::duration<double>(targets_[i].busy()).count();
  }
  found.metadata_busy_s = std::chrono::duration<double>(metadata_.busy()).count();
  return found;
}

}  // namespace sluice::contended
