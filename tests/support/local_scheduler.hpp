// The run token of virtual ranks: a seeded generator chooses which rank runs.
//
// Invariants: one thread at a time holds the run token; it is handed over only in pause() and
// block(), and when a rank ends; state that is touched only by the holder needs no lock.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "support/local_transport.hpp"

namespace sluice::exec {

class Scheduler {
 public:
  /// `on_deadlock` runs with the run token if no rank can run: afterwards every block() returns
  /// false.
  Scheduler(int ranks, std::uint64_t seed, const LocalOptions& options,
            std::function<void()> on_deadlock);

  /// Runs `body(rank)` for all ranks; returns when all have. `body` must not throw.
  void run(const std::function<void(int)>& body);

  /// May let another rank run; called by the rank with the run token.
  void pause(int rank);
  /// Waits until `ready()`; false if no rank can run, so that it never will be. `ready` is
  /// evaluated by the holder of the run token.
  bool block(int rank, std::function<bool()> ready);
  /// The next number of the seeded generator. With the run token only.
  std::uint64_t draw() { return random_(); }

  bool blocked(int rank) const {
    return slots_[static_cast<std::size_t>(rank)]->state == State::blocked;
  }
  bool ended(int rank) const {
    return slots_[static_cast<std::size_t>(rank)]->state == State::ended;
  }

 private:
  enum class State : std::uint8_t { ready, blocked, stuck, ended };
  struct Slot {
    std::condition_variable turn;
    State state = State::ready;
    std::function<bool()> ready;
  };

  int pick();
  void hand_over(int rank);
  void end(int rank);

  std::mutex mutex_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<int> candidates_;
  std::mt19937_64 random_;
  LocalOptions options_;
  std::function<void()> on_deadlock_;
  int running_ = -1;  // -1: nobody
};

}  // namespace sluice::exec
