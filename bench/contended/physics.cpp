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
    : parameters_(parameters), targets_(parameters.targets) {
  counters_.targets.resize(parameters.targets);
}

std::unique_ptr<StripedFile> Physics::make_file() {
  auto file = std::make_unique<StripedFile>();
  const std::lock_guard lock(mutex_);
  file->first_target = next_target_;
  next_target_ = (next_target_ + 1) % parameters_.targets;
  return file;
}

std::vector<Physics::Piece> Physics::pieces_of(std::uint64_t offset, std::uint64_t length) const {
  std::vector<Piece> pieces;
  const std::uint64_t end = offset + length;
  while (offset < end) {
    const std::uint64_t stripe = offset / parameters_.stripe_bytes;
    const std::uint64_t stop = std::min(end, (stripe + 1) * parameters_.stripe_bytes);
    pieces.push_back({stripe, stop - offset});
    offset = stop;
  }
  return pieces;
}

void Physics::acquire(StripeLock& lock, Client client) {
  std::unique_lock guard(mutex_);
  const std::uint64_t ticket = lock.next_ticket++;
  lock.changed.wait(
      guard, [&] { return lock.serving == ticket && (lock.writes == 0 || lock.owner == client); });
  if (lock.is_owned && lock.owner != client) {
    ++counters_.hand_overs;
    // Nobody else is served before this ticket is through, so the lock may be let go of meanwhile.
    guard.unlock();
    std::this_thread::sleep_for(duration_of(parameters_.lock_s));
    guard.lock();
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

void Physics::enter_targets(const StripedFile& file, std::vector<Piece>& pieces, bool is_write) {
  const std::lock_guard guard(mutex_);
  const TimePoint now = Clock::now();
  for (Piece& piece : pieces) {
    const std::size_t target = (file.first_target + piece.stripe) % parameters_.targets;
    const double service_s = static_cast<double>(piece.bytes) / parameters_.bandwidth_bytes_per_s;
    piece.done =
        targets_[target].enter(now, duration_of(service_s)) + duration_of(parameters_.latency_s);
    TargetCounters& counters = counters_.targets[target];
    (is_write ? counters.written_bytes : counters.read_bytes) += piece.bytes;
    ++counters.requests;
  }
}

void Physics::write(StripedFile& file, Client client, std::uint64_t offset, std::uint64_t length,
                    const std::function<void()>& work) {
  std::vector<Piece> pieces = pieces_of(offset, length);
  for (Piece& piece : pieces) {
    {
      const std::lock_guard guard(mutex_);
      piece.lock = &file.locks[piece.stripe];
    }
    acquire(*piece.lock, client);
  }
  enter_targets(file, pieces, true);
  work();
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.done < b.done; });
  for (const Piece& piece : pieces) {
    std::this_thread::sleep_until(piece.done);
    release(*piece.lock);
  }
}

void Physics::read(StripedFile& file, std::uint64_t offset, std::uint64_t length,
                   const std::function<void()>& work) {
  std::vector<Piece> pieces = pieces_of(offset, length);
  enter_targets(file, pieces, false);
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

void Physics::sync() { std::this_thread::sleep_for(duration_of(parameters_.latency_s)); }

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
