// Commits between their planning and the moment in which they are in the file: begun, arrived,
// placed, published or failed.
//
// Invariants: commits are published in the order of their numbers, each when every writer's part of
// it has arrived (and is synced, if it is to be durable); after one that failed nothing is
// published until restart(). A queue of depth one (BlockingQueue) waits for each in publish(); a
// deeper one (BackgroundQueue) goes on, and says later what became of it.
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
  /// So many commits may be on their way; their metadata is held in memory.
  static constexpr std::uint64_t commits_max = 64;

  virtual ~CommitQueue() = default;

  // -- one commit, in this order, on every rank ---------------------------------------------------
  /// Until the planner is free.
  virtual void wait_until_placed() {}
  /// On rank 0, just before the commit is planned.
  virtual void before_planning() {}
  /// Makes room for a commit that `who` writes.
  virtual void begin(const plan::Plan& who, bool is_step) = 0;
  /// Collective. This rank's part has come to the writers, or has failed: throws the same Error on
  /// every rank where one has.
  virtual void arrive(const std::exception_ptr& failure, bool synced,
                      const CommitPlanner::Update& update) = 0;
  /// Its metadata follows; `update` is rank 0's.
  virtual void publish(const FileCommit& commit, CommitPlanner::Update update) = 0;
  /// Of the last commit, where it was on its way when publish() returned; else null.
  virtual std::shared_ptr<PendingCommit> last() const { return nullptr; }

  // -- commits on their way; local ----------------------------------------------------------------
  /// Moves on what can be moved without waiting.
  virtual void poll() {}
  /// Settles the PendingCommits of which news has come; moves nothing.
  virtual void absorb() {}
  /// Until commit `number` is there, or has failed.
  virtual void wait(std::uint64_t) {}
  /// Until nothing is on its way.
  virtual void wait_for_all() {}
  /// The same, at most so many seconds; true where nothing is left. Throws what a commit met.
  virtual bool wait_at_most(double) { return true; }
  /// The first commit that is not planned yet, where there are some; else 0.
  virtual std::uint64_t first_unplanned() { return 0; }
  /// What the first commit met that failed on its way, if this rank knows of one.
  virtual std::exception_ptr failure() { return nullptr; }
  /// Has a ticket told the caller of it?
  virtual bool failure_was_reported() const { return false; }
  /// Another rank does not answer any more, so that it is not worth waiting for.
  virtual void lose_others() noexcept {}
  virtual bool has_lost_others() const noexcept { return false; }
  /// Seconds that commits have waited for others.
  virtual double waited_s() const { return 0; }

  // -- after a failure ----------------------------------------------------------------------------
  /// Until nothing is on its way; the commits that failed are forgotten.
  virtual void drop_failed() {}
  /// Collective, after that on every rank.
  virtual void restart() {}
};

}  // namespace sluice::commit
