// The log beside a file: one line of JSON for each commit, for programs to read.
//
// Invariants: it is never a reason for output to fail: if a line cannot be written the log ends,
// and failure() says why; nothing is synced.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "commit/write/output_stats.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// Path of the log of the file at `path`.
std::string log_path(const std::string& path);

class StepLog {
 public:
  /// On one rank. `goes_on`: appends to what an earlier run logged.
  StepLog(storage::Storage& storage, const std::string& path, bool goes_on) noexcept;
  void write(std::span<const CommitCost> commits) noexcept;
  /// Why it ended; empty if it did not.
  const std::string& failure() const noexcept { return failure_; }

 private:
  std::unique_ptr<storage::File> file_;
  std::uint64_t end_ = 0;
  std::string failure_;
};

}  // namespace sluice::commit
