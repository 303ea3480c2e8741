#include "sim/file_system.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::sim {

namespace {

/// Mixes bits: the same seed gives the same machine on every platform.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// In [0, 1).
double unit(std::uint64_t x) { return static_cast<double>(mix(x) >> 11) * 0x1p-53; }

std::uint64_t whole_bytes(const Constant& constant) {
  return static_cast<std::uint64_t>(constant.value);
}

}  // namespace

FileSystem::FileSystem(const Machine& machine, EventQueue& queue, Nodes& nodes, std::size_t clients,
                       std::size_t actors, const Stripes& stripes, std::uint64_t seed)
    : queue_(queue),
      nodes_(nodes),
      stripes_(stripes),
      seed_(seed),
      target_count_(static_cast<std::uint32_t>(machine.targets.value)),
      dirty_bytes_(whole_bytes(machine.dirty_bytes)),
      request_bytes_(machine.request_bytes.value),
      stream_bytes_per_s_(machine.stream_bytes_per_s.value),
      drain_bytes_per_s_(machine.drain_bytes_per_s.value),
      link_bytes_per_s_(machine.link_bytes_per_s.value),
      rpc_s_(machine.rpc_s.value),
      request_s_(machine.request_s.value),
      callback_s_(machine.lock_callback_s.value),
      has_process_clients_(machine.process_clients.value > 0),
      handover_s_(machine.handover_s.value),
      locked_at_once_bytes_(machine.locks_requests.value > 0 ? whole_bytes(machine.request_bytes)
                                                             : 1),
      part_read_(machine.part_read.value),
      touch_s_(machine.touch_s.value),
      open_s_(1 / machine.opens_per_s.value),
      sync_s_(machine.sync_s.value),
      targets_(target_count_),
      streams_(actors),
      next_(actors, none),
      slots_(clients * target_count_) {
  for (std::uint32_t t = 0; t < target_count_; ++t) {
    const double taken = machine.interference.value * unit(mix(seed) + t);
    targets_[t].bytes_per_s = machine.target_bytes_per_s.value * (1 - taken);
  }
}

double FileSystem::open(double now_s) {
  ++counts_.opens;
  return metadata_.serve(now_s + rpc_s_ / 2, open_s_) + rpc_s_ / 2;
}

FileSystem::Piece FileSystem::piece_at(const Access& access, std::uint64_t offset) const {
  const std::uint64_t stripe = offset / stripes_.bytes;
  const std::uint64_t first = mix(seed_ ^ mix(access.file)) % target_count_;
  Piece piece;
  piece.actor = access.actor;
  piece.node = access.node;
  piece.client = access.client;
  piece.target = static_cast<std::uint32_t>((first + stripe % stripes_.count) % target_count_);
  piece.bytes = std::min(access.end, (stripe + 1) * stripes_.bytes) - offset;
  piece.is_direct = access.is_direct;
  const double full = std::ceil(static_cast<double>(piece.bytes) / request_bytes_);
  piece.requests = std::max(access.requests, static_cast<std::uint32_t>(full));
  return piece;
}

bool FileSystem::is_shared(const Access& access, const Piece& piece) const {
  return access.is_scattered || piece.bytes != stripes_.bytes;
}

/// The stripes of the request at `offset`, in ascending order, so that requests cannot deadlock.
std::optional<Progress> FileSystem::take_locks(Access& access, double now_s) {
  if (access.offset >= access.request_end) {
    access.request_end = std::min(access.end, access.offset + locked_at_once_bytes_);
    access.locked_end = access.offset;
  }
  while (access.locked_end < access.request_end && access.lock_count < most_locks) {
    const Piece piece = piece_at(access, access.locked_end);
    std::uint32_t& lock = access.locks[access.lock_count];
    lock = none;
    Progress progress;
    if (is_shared(access, piece)) {
      progress = take_lock(access, piece, lock, now_s);
      if (progress.kind == Progress::waits) {
        return progress;
      }
    }
    ++access.lock_count;
    access.locked_end += piece.bytes;
    if (progress.kind == Progress::later) {
      return progress;
    }
  }
  access.request_end = access.locked_end;
  return std::nullopt;
}

/// `ended`: immediately.
Progress FileSystem::take_lock(Access& access, const Piece& piece, std::uint32_t& number,
                               double now_s) {
  constexpr int stripe_bits = 40;
  const std::uint64_t key =
      (std::uint64_t{access.file} << stripe_bits) | (access.locked_end / stripes_.bytes);
  const auto [found, is_new] =
      lock_numbers_.try_emplace(key, static_cast<std::uint32_t>(locks_.size()));
  if (is_new) {
    locks_.emplace_back();
  }
  Lock& lock = locks_[found->second];
  const bool is_ours = lock.owner == access.client || lock.owner == none;
  const bool in_turn = access.was_called || lock.first == none;
  // The processes of a node use the lock for as long as the node has it.
  const bool may_pass = is_ours && !has_process_clients_;
  if (!(in_turn || may_pass) || (!is_ours && lock.on_way != 0)) {
    wait_in(lock.first, lock.last, access.actor);
    access.was_called = false;
    return {Progress::waits};
  }
  access.was_called = false;
  number = found->second;
  ++lock.on_way;
  if (is_ours) {
    lock.owner = access.client;
    return now_s < lock.free_at_s ? Progress{Progress::later, lock.free_at_s} : Progress{};
  }
  ++counts_.handovers;
  lock.owner = access.client;
  lock.held_bytes = 0;
  const double served = targets_[piece.target].lock_server.serve(now_s, handover_s_);
  lock.free_at_s = std::max(served, lock.free_at_s) + callback_s_;
  call_next(lock.first, lock.last, lock.free_at_s);  // it may be of the same client
  return {Progress::later, lock.free_at_s};
}

/// An array with parity over the whole stripe: what the client writes while it holds the lock is
/// one part of it.
double FileSystem::read_for(Lock& lock, std::uint64_t bytes) const {
  const auto of_part = [&](std::uint64_t part) {
    return std::min(part_read_ * static_cast<double>(part),
                    static_cast<double>(stripes_.bytes - std::min(part, stripes_.bytes)));
  };
  const double before = of_part(lock.held_bytes);
  lock.held_bytes += bytes;
  return of_part(lock.held_bytes) - before;
}

bool FileSystem::find_room(Access& access, const Piece& piece, Slot& slot) {
  const bool fits_known =
      slot.state == Slot::known && slot.dirty_bytes + piece.bytes <= dirty_bytes_;
  const bool fits = slot.dirty_bytes == 0 || fits_known;
  const bool in_turn = access.was_called || slot.first == none;
  if (!fits || !in_turn) {
    wait_in(slot.first, slot.last, access.actor);
    access.was_called = false;
    return false;
  }
  access.was_called = false;
  slot.dirty_bytes += piece.bytes;
  return true;
}

Progress FileSystem::write_on(Access& access, double now_s) {
  if (access.offset == access.end) {
    return {};
  }
  if (const auto wait = take_locks(access, now_s)) {
    return *wait;
  }
  Piece piece = piece_at(access, access.offset);
  touch(piece, now_s);
  Slot& slot = slots_[slot_of(piece)];
  if (!piece.is_direct && !find_room(access, piece, slot)) {
    return {Progress::waits};
  }
  if (!piece.is_direct && slot.first != none) {
    call_next(slot.first, slot.last, now_s);  // there may be room for one more
  }
  piece.lock = access.locks.front();
  piece.read_bytes = piece.lock == none ? 0 : read_for(locks_[piece.lock], piece.bytes);
  std::shift_left(access.locks.begin(), access.locks.end(), 1);
  --access.lock_count;
  access.offset += piece.bytes;
  counts_.written_bytes += piece.bytes;
  ++counts_.pieces;
  const double copied = piece.is_direct ? now_s : nodes_.copied(piece.node, now_s, piece.bytes);
  const std::uint32_t number = pieces_.add(piece);
  if (slot.state == Slot::known) {
    send_off(number, copied);
  } else {
    slot.held.push_back(number);
  }
  return {Progress::later, copied};
}

void FileSystem::touch(const Piece& piece, double now_s) {
  const std::uint32_t number = slot_of(piece);
  Slot& slot = slots_[number];
  if (slot.state != Slot::unknown) {
    return;
  }
  ++counts_.touches;
  slot.state = Slot::asked;
  // The target answers when it turns to this node, and is then busy for a while with other new
  // nodes.
  const double done = targets_[piece.target].first_touches.serve(now_s, touch_s_);
  queue_.at(done - touch_s_ + rpc_s_, What::target_touched, number);
}

void FileSystem::target_touched(std::uint32_t number, double now_s) {
  Slot& slot = slots_[number];
  slot.state = Slot::known;
  for (const std::uint32_t piece : slot.held) {
    send_off(piece, now_s);
  }
  slot.held = {};
  call_next(slot.first, slot.last, now_s);
}

void FileSystem::send_off(std::uint32_t number, double now_s) {
  const Piece& piece = pieces_[number];
  const double streamed =
      streams_[piece.actor].serve(now_s, static_cast<double>(piece.bytes) / stream_bytes_per_s_);
  queue_.at(streamed, What::piece_streamed, number);
}

void FileSystem::piece_streamed(std::uint32_t number, double now_s) {
  const Piece& piece = pieces_[number];
  const double left =
      nodes_[piece.node].drain.serve(now_s, static_cast<double>(piece.bytes) / drain_bytes_per_s_);
  queue_.at(left + rpc_s_ / 2, What::piece_at_target, number);
}

double FileSystem::target_work_s(const Piece& piece) const {
  return (static_cast<double>(piece.bytes) + piece.read_bytes) /
             targets_[piece.target].bytes_per_s +
         piece.requests * request_s_;
}

void FileSystem::piece_at_target(std::uint32_t number, double now_s) {
  const Piece& piece = pieces_[number];
  const double served = targets_[piece.target].data.serve(now_s, target_work_s(piece));
  queue_.at(served + rpc_s_ / 2, piece.is_read ? What::piece_at_node : What::piece_done, number);
}

void FileSystem::piece_at_node(std::uint32_t number, double now_s) {
  const Piece& piece = pieces_[number];
  const auto bytes = static_cast<double>(piece.bytes);
  const double in_node = nodes_[piece.node].in.serve(now_s, bytes / link_bytes_per_s_);
  queue_.at(streams_[piece.actor].serve(in_node, bytes / stream_bytes_per_s_), What::piece_done,
            number);
}

std::uint32_t FileSystem::piece_done(std::uint32_t number, double now_s) {
  const Piece piece = pieces_[number];
  pieces_.remove(number);
  if (piece.is_read) {
    return piece.actor;
  }
  if (!piece.is_direct) {
    Slot& slot = slots_[slot_of(piece)];
    slot.dirty_bytes -= piece.bytes;
    call_next(slot.first, slot.last, now_s);
  }
  if (piece.lock != none && --locks_[piece.lock].on_way == 0) {
    Lock& lock = locks_[piece.lock];
    call_next(lock.first, lock.last, now_s);
  }
  return piece.actor;
}

Progress FileSystem::read_on(Access& access, double now_s) {
  if (access.offset == access.end) {
    return {};
  }
  Piece piece = piece_at(access, access.offset);
  piece.is_read = true;
  access.offset += piece.bytes;
  counts_.read_bytes += piece.bytes;
  ++counts_.pieces;
  queue_.at(now_s + rpc_s_ / 2, What::piece_at_target, pieces_.add(piece));
  return {Progress::later, now_s};
}

void FileSystem::wait_in(std::uint32_t& first, std::uint32_t& last, std::uint32_t actor) {
  next_[actor] = none;
  (first == none ? first : next_[last]) = actor;
  last = actor;
}

void FileSystem::call_next(std::uint32_t& first, std::uint32_t& last, double now_s) {
  if (first != none) {
    const std::uint32_t actor = first;
    first = next_[actor];
    last = first == none ? none : last;
    queue_.at(now_s, What::actor_called, actor);
  }
}

double FileSystem::busiest_s() const {
  double most = 0;
  for (const Target& target : targets_) {
    most = std::max(most, target.data.busy_s());
  }
  return most;
}

}  // namespace sluice::sim
