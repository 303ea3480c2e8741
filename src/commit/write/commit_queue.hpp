// Commits between their planning and their completion in the file: begun, arrived, placed,
// published or failed.
//
// Invariants: commits are published in the order of their numbers, each when every writer's part of
// it has arrived (and is synced, if it is to be durable); after a failed one nothing is published
// until restart(). A queue of depth one (BlockingQueue) waits for each in publish(); a deeper one
// (BackgroundQueue) continues, and reports the outcome later.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>

#include "commit/write/commit_planner.hpp"
#include "commit/write/file_commit.hpp"
#include "commit/write/pending_commit.hpp"
#include "plan/plan.hpp"

namespace sluice::commit {

class CommitQueue {
 public:
  /// This many commits may be in flight; their metadata is held in memory.
  static constexpr std::uint64_t commits_max = 64;

  virtual ~CommitQueue() = default;

  // -- one commit, in this order, on every rank ---------------------------------------------------
  /// Waits until the planner is free.
  virtual void wait_until_placed() {}
  /// On rank 0, just before the commit is planned.
  virtual void before_planning() {}
  /// Reserves staging for a commit that `who` writes.
  virtual void begin(const plan::Plan& who, bool is_step) = 0;
  /// Collective. This rank's part has been passed to the writers, or has failed. If one has, every
  /// rank throws the same Error, here or in publish().
  virtual void arrive(const std::exception_ptr& failure, bool synced,
                      const CommitPlanner::Update& update) = 0;
  /// Collective. Its metadata follows; `update` is rank 0's.
  virtual void publish(const FileCommit& commit, CommitPlanner::Update update) = 0;
  /// The pending commit of the last one, if it was in flight when publish() returned; else null.
  virtual std::shared_ptr<PendingCommit> last() const { return nullptr; }

  // -- commits in flight; local
  // ---------------------------------------------------------------------
  /// May a commit be in flight, or fail, when publish() has returned? The same on every rank.
  virtual bool in_background() const noexcept { return false; }
  /// Does this rank know of a commit in flight?
  virtual bool is_busy() { return false; }
  /// Makes progress without waiting.
  virtual void poll() {}
  /// Settles the PendingCommits whose outcome has arrived; moves nothing.
  virtual void absorb() {}
  /// Waits until commit `number` is complete, or has failed.
  virtual void wait(std::uint64_t) {}
  /// Waits until nothing is in flight.
  virtual void wait_for_all() {}
  /// The same, at most that many seconds; true if nothing is left. Throws the failure of a commit.
  virtual bool wait_at_most(double) { return true; }
  /// The first commit that is not planned yet, if there are some; else 0.
  virtual std::uint64_t first_unplanned() { return 0; }
  /// The failure of the first failed commit in flight, if this rank knows of one.
  virtual std::exception_ptr failure() { return nullptr; }
  /// Was it reported to the caller by a ticket?
  virtual bool failure_was_reported() const { return false; }
  /// Another rank does not answer any more, so it is not worth waiting for.
  virtual void lose_others() noexcept {}
  virtual bool has_lost_others() const noexcept { return false; }
  /// Seconds that commits have waited for others.
  virtual double waited_s() const { return 0; }

  // -- after a failure ----------------------------------------------------------------------------
  /// Waits until nothing is in flight; the failed commits are cleared.
  virtual void drop_failed() {}
  /// Collective, after that on every rank.
  virtual void restart() {}
};

}  // namespace sluice::commit
