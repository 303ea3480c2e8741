#include "sim/engine.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/network.hpp"
#include "sluice/error.hpp"

namespace sluice::sim {

namespace {

/// Requests of a read in flight at a time.
constexpr std::uint32_t read_window = 8;

enum class Wait : std::uint8_t { nothing, event, bytes, sends, pieces, room, thread };

/// A rank's program, or its thread with what was submitted to it.
struct Actor {
  std::size_t at = 0;        ///< of the program
  std::uint32_t pieces = 0;  ///< in flight
  std::uint32_t sends = 0;
  std::uint64_t arrived_bytes = 0;
  Wait wait = Wait::event;
  bool is_in_access = false;
  Access access;
  RankTimes times;
};

struct Thread {
  std::vector<Op> queue;
  std::size_t next = 0;
  std::uint64_t queued_bytes = 0;
  bool is_idle = true;
};

Stripes stripes_of(const Machine& machine, const Programs& programs) {
  Stripes stripes;
  stripes.count =
      programs.stripes != 0 ? programs.stripes : static_cast<std::uint32_t>(machine.stripes.value);
  stripes.count = std::min(stripes.count, static_cast<std::uint32_t>(machine.targets.value));
  stripes.bytes = programs.stripe_bytes != 0
                      ? programs.stripe_bytes
                      : static_cast<std::uint64_t>(machine.stripe_bytes.value);
  return stripes;
}

class Engine {
 public:
  Engine(const Machine& machine, const Programs& programs, std::uint64_t seed)
      : barrier_s_(machine.barrier_s.value),
        programs_(programs),
        ranks_(static_cast<std::uint32_t>(programs.ranks)),
        nodes_(machine, programs.nodes),
        network_(machine, queue_, nodes_, programs.ranks),
        has_process_clients_(machine.process_clients.value > 0),
        files_(machine, queue_, nodes_,
               has_process_clients_ ? ranks_ : static_cast<std::size_t>(programs.nodes),
               2 * std::size_t{ranks_}, stripes_of(machine, programs), seed),
        actors_(2 * std::size_t{ranks_}),
        threads_(ranks_),
        barriers_(programs.group_sizes.size()) {}

  Outcome run();

 private:
  void handle(const Event& event);
  void go_on(std::uint32_t actor, double now_s);
  bool step(std::uint32_t rank, const Op& op, double now_s);
  bool step_access(std::uint32_t rank, const Op& op, double now_s);
  bool step_thread_op(std::uint32_t rank, const Op& op, double now_s);
  void thread_goes_on(std::uint32_t rank, double now_s);
  bool barrier(std::uint32_t rank, std::uint32_t group, double now_s);
  void send(std::uint32_t rank, const Op& op, double now_s);
  /// True: the access is finished. Otherwise the actor is called again.
  bool write_on(std::uint32_t actor, double now_s);
  bool read_on(std::uint32_t actor, double now_s);
  void begin_access(std::uint32_t actor, const Op& op);
  void call(std::uint32_t rank, Wait reason, double now_s);
  bool pause(std::uint32_t actor, Wait reason) {
    actors_[actor].wait = reason;
    return false;
  }
  bool come_again(std::uint32_t actor, double at_s) {
    queue_.at(at_s, What::actor_goes_on, actor);
    return pause(actor, Wait::event);
  }
  bool is_thread(std::uint32_t actor) const { return actor >= ranks_; }
  bool has_ended(std::uint32_t rank) const {
    return actors_[rank].at == programs_.of_rank[rank].size();
  }
  std::uint32_t node_of(std::uint32_t rank) const {
    return static_cast<std::uint32_t>(programs_.node_of(static_cast<int>(rank)));
  }
  void check_ended() const;
  Outcome outcome() const;

  const double barrier_s_;
  const Programs& programs_;
  const std::uint32_t ranks_;
  EventQueue queue_;
  Nodes nodes_;
  Network network_;
  const bool has_process_clients_;
  FileSystem files_;
  std::vector<Actor> actors_;  ///< the ranks, then their threads
  std::vector<Thread> threads_;
  std::vector<std::vector<std::uint32_t>> barriers_;  ///< who has arrived, by group
};

Outcome Engine::run() {
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    queue_.at(0, What::actor_goes_on, rank);
  }
  while (!queue_.empty()) {
    handle(queue_.pop());
  }
  check_ended();
  return outcome();
}

void Engine::handle(const Event& event) {
  switch (event.what) {
    case What::actor_called:
      actors_[event.which].access.was_called = true;
      go_on(event.which, event.at_s);
      return;
    case What::actor_goes_on:
      go_on(event.which, event.at_s);
      return;
    case What::message_at_node:
      network_.arrive_at_node(event.which, event.at_s);
      return;
    case What::message_there: {
      const Message message = network_.take(event.which);
      actors_[message.to].arrived_bytes += message.bytes;
      --actors_[message.from].sends;
      call(message.to, Wait::bytes, event.at_s);
      call(message.from, Wait::sends, event.at_s);
      return;
    }
    case What::piece_streamed:
      files_.piece_streamed(event.which, event.at_s);
      return;
    case What::piece_at_target:
      files_.piece_at_target(event.which, event.at_s);
      return;
    case What::piece_at_node:
      files_.piece_at_node(event.which, event.at_s);
      return;
    case What::piece_done: {
      const std::uint32_t actor = files_.piece_done(event.which, event.at_s);
      --actors_[actor].pieces;
      const std::uint32_t rank = is_thread(actor) ? actor - ranks_ : actor;
      actors_[rank].times.durable_s = event.at_s;
      call(actor, Wait::pieces, event.at_s);
      call(rank, Wait::thread, event.at_s);
      return;
    }
    case What::target_touched:
      files_.target_touched(event.which, event.at_s);
      return;
  }
}

void Engine::call(std::uint32_t actor, Wait reason, double now_s) {
  if (actors_[actor].wait == reason) {
    actors_[actor].wait = Wait::event;
    queue_.at(now_s, What::actor_goes_on, actor);
  }
}

void Engine::go_on(std::uint32_t actor, double now_s) {
  actors_[actor].wait = Wait::nothing;
  if (is_thread(actor)) {
    thread_goes_on(actor - ranks_, now_s);
    return;
  }
  const Program& program = programs_.of_rank[actor];
  Actor& self = actors_[actor];
  while (self.at < program.size()) {
    const Op& op = program[self.at];
    if (!step(actor, op, now_s)) {
      return;
    }
  }
  self.times.durable_s = std::max(self.times.durable_s, now_s);
}

/// False: the rank is called again, for this operation or the next.
bool Engine::step(std::uint32_t rank, const Op& op, double now_s) {
  Actor& self = actors_[rank];
  switch (op.what) {
    case Do::compute:
      ++self.at;
      return come_again(rank, now_s + std::bit_cast<double>(op.offset));
    case Do::copy:
      ++self.at;
      return come_again(rank, nodes_.copied(node_of(rank), now_s, op.bytes));
    case Do::begin:
      self.times.began_s = now_s;
      break;
    case Do::returned:
      self.times.returned_s = now_s;
      break;
    case Do::send:
      send(rank, op, now_s);
      break;
    case Do::admit:
      network_.admit(rank, op.count, now_s);
      break;
    case Do::receive:
      if (self.arrived_bytes < op.bytes) {
        return pause(rank, Wait::bytes);
      }
      self.arrived_bytes -= op.bytes;
      break;
    case Do::sent:
      if (self.sends != 0) {
        return pause(rank, Wait::sends);
      }
      break;
    case Do::barrier:
      ++self.at;
      return barrier(rank, op.other, now_s);
    case Do::open:
      ++self.at;
      return come_again(rank, files_.open(now_s));
    case Do::write:
    case Do::read:
      return step_access(rank, op, now_s);
    case Do::submit:
    case Do::finish:
    case Do::sync:
      return step_thread_op(rank, op, now_s);
  }
  ++self.at;
  return true;
}

bool Engine::step_access(std::uint32_t rank, const Op& op, double now_s) {
  Actor& self = actors_[rank];
  if (!self.is_in_access) {
    begin_access(rank, op);
  }
  const bool is_over = op.what == Do::read ? read_on(rank, now_s) : write_on(rank, now_s);
  if (is_over) {
    self.is_in_access = false;
    ++self.at;
  }
  return is_over;
}

bool Engine::step_thread_op(std::uint32_t rank, const Op& op, double now_s) {
  Actor& self = actors_[rank];
  Thread& thread = threads_[rank];
  if (op.what == Do::submit) {
    if (thread.queued_bytes != 0 && thread.queued_bytes + op.bytes > programs_.held_bytes) {
      return pause(rank, Wait::room);
    }
    thread.queue.push_back(op);
    thread.queued_bytes += op.bytes;
    if (thread.is_idle) {
      thread.is_idle = false;
      queue_.at(now_s, What::actor_goes_on, rank + ranks_);
    }
  } else {
    const bool is_sync = op.what == Do::sync;
    const bool on_way = self.pieces != 0 || actors_[rank + ranks_].pieces != 0;
    if (!thread.is_idle || (is_sync && on_way)) {
      return pause(rank, Wait::thread);
    }
    if (is_sync) {
      ++self.at;
      return come_again(rank, now_s + files_.sync_s());
    }
  }
  ++self.at;
  return true;
}

void Engine::thread_goes_on(std::uint32_t rank, double now_s) {
  Thread& thread = threads_[rank];
  Actor& self = actors_[rank + ranks_];
  while (thread.next < thread.queue.size()) {
    const Op& op = thread.queue[thread.next];
    if (!self.is_in_access) {
      begin_access(rank + ranks_, op);
    }
    if (!write_on(rank + ranks_, now_s)) {
      return;
    }
    self.is_in_access = false;
    thread.queued_bytes -= op.bytes;
    ++thread.next;
    call(rank, Wait::room, now_s);
  }
  thread.queue.clear();
  thread.next = 0;
  thread.is_idle = true;
  self.wait = Wait::nothing;
  call(rank, Wait::thread, now_s);
}

bool Engine::barrier(std::uint32_t rank, std::uint32_t group, double now_s) {
  std::vector<std::uint32_t>& here = barriers_[group];
  here.push_back(rank);
  const std::uint32_t size = programs_.group_sizes[group];
  if (here.size() < size) {
    return pause(rank, Wait::event);
  }
  const double over = now_s + barrier_s_ * std::ceil(std::log2(std::max(1.0, double(size))));
  for (const std::uint32_t member : here) {
    queue_.at(over, What::actor_goes_on, member);
  }
  here.clear();
  return pause(rank, Wait::event);
}

void Engine::send(std::uint32_t rank, const Op& op, double now_s) {
  ++actors_[rank].sends;
  network_.send({rank, op.other, node_of(rank), node_of(op.other), op.count, op.bytes}, now_s);
}

void Engine::begin_access(std::uint32_t actor, const Op& op) {
  Access& access = actors_[actor].access;
  access = {};
  access.actor = actor;
  const std::uint32_t rank = is_thread(actor) ? actor - ranks_ : actor;
  access.node = node_of(rank);
  access.client = has_process_clients_ ? rank : access.node;
  access.file = op.other;
  access.requests = op.count;
  access.is_direct = op.is_direct;
  access.is_scattered = op.is_scattered;
  access.offset = op.offset;
  access.end = op.offset + op.bytes;
  actors_[actor].is_in_access = true;
}

bool Engine::write_on(std::uint32_t actor, double now_s) {
  Actor& self = actors_[actor];
  while (true) {
    const std::uint64_t before = self.access.offset;
    const Progress progress = files_.write_on(self.access, now_s);
    self.pieces += self.access.offset != before ? 1 : 0;
    if (progress.kind == Progress::ended) {
      // The system call returns when direct bytes have been written.
      return !self.access.is_direct || self.pieces == 0 || pause(actor, Wait::pieces);
    }
    if (progress.kind == Progress::waits) {
      return pause(actor, Wait::event);
    }
    if (progress.at_s > now_s) {
      return come_again(actor, progress.at_s);
    }
  }
}

bool Engine::read_on(std::uint32_t actor, double now_s) {
  Actor& self = actors_[actor];
  while (self.pieces < read_window && self.access.offset != self.access.end) {
    files_.read_on(self.access, now_s);
    ++self.pieces;
  }
  return self.pieces == 0 || pause(actor, Wait::pieces);
}

void Engine::check_ended() const {
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if (!has_ended(rank)) {
      throw Error(Code::internal, "model machine: rank " + std::to_string(rank) +
                                      " waits forever in operation " +
                                      std::to_string(actors_[rank].at) + " of its program");
    }
  }
}

Outcome Engine::outcome() const {
  Outcome outcome;
  outcome.ranks.reserve(ranks_);
  double first = ranks_ == 0 ? 0 : actors_[0].times.began_s;
  double last = 0;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    RankTimes times = actors_[rank].times;
    times.returned_s = times.returned_s < 0 ? times.durable_s : times.returned_s;
    outcome.ranks.push_back(times);
    first = std::min(first, times.began_s);
    last = std::max(last, times.durable_s);
    outcome.returned_s = std::max(outcome.returned_s, times.returned_s - times.began_s);
  }
  outcome.durable_s = last - first;
  outcome.busiest_target_s = files_.busiest_s();
  outcome.moved_bytes = network_.moved_bytes();
  outcome.events = queue_.made();
  outcome.counts = files_.counts();
  return outcome;
}

}  // namespace

Outcome run_programs(const Machine& machine, const Programs& programs, std::uint64_t seed) {
  return Engine(machine, programs, seed).run();
}

}  // namespace sluice::sim
