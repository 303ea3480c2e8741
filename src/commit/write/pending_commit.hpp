// A commit that may still be in flight when its call returns.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include "commit/write/output_stats.hpp"
#include "storage/own_process.hpp"

namespace sluice::commit {

class CommitQueue;

/// Shared by the file's queue and the tickets of the commit; used by one thread of a rank.
class PendingCommit {
 public:
  /// `was_reported` becomes true when a caller has seen a failure. `stats` may be null.
  PendingCommit(CommitQueue* queue, std::uint64_t number, bool synced,
                std::shared_ptr<bool> was_reported, OutputStats* stats)
      : queue_(queue),
        number_(number),
        synced_(synced),
        was_reported_(std::move(was_reported)),
        stats_(stats) {}

  /// Is the commit durable in the file? Checks again.
  bool durable();
  /// Returns when the commit is complete; throws its failure.
  void wait();

  std::uint64_t number() const noexcept { return number_; }
  bool failed() const noexcept { return failure_ != nullptr; }
  /// When it was complete, or had failed, by model::now_s; 0: it is still in flight.
  double settled_s();
  /// The final outcome. `failure`: nullptr if the commit is complete. `at_s`: since when.
  void settle(const std::exception_ptr& failure, double at_s) noexcept {
    queue_ = nullptr;
    failure_ = failure;
    settled_s_ = at_s;
  }

 private:
  CommitQueue* queue_;  ///< nullptr: settled
  std::uint64_t number_;
  bool synced_;
  std::shared_ptr<bool> was_reported_;
  OutputStats* stats_;
  storage::OwnProcess process_;
  std::exception_ptr failure_;
  double settled_s_ = 0;
};

}  // namespace sluice::commit
