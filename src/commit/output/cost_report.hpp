// What an output reports: the plan of its first commit (SLUICE_EXPLAIN), the choice of `auto`, and
// the cost of output (the option `log`).
//
// Invariants: the printers are called on rank 0 only; a log that cannot be written ends, and output
// continues.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "commit/output/step_log.hpp"
#include "commit/write/output_stats.hpp"
#include "commit/write/pending_commit.hpp"
#include "exec/transport/transport.hpp"
#include "plan/totals.hpp"
#include "plan/tuner.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class CostReport {
 public:
  using Print = std::function<void(const std::string&)>;

  /// All must outlive the object.
  CostReport(exec::Transport& transport, storage::Storage& storage, const std::string& path,
             const Options& options);

  // -- local; each on every rank or on none -------------------------------------------------------
  /// `print` will get one line about the first commit that has data (plan::Explain says when).
  void explain(Print print) { explain_ = std::move(print); }
  /// Why one file or several were chosen: reported with the first commit.
  void explain_files(std::string reason) { files_reason_ = std::move(reason); }
  /// `print` gets the reports that the option `log` enables.
  void report(Print print) { report_ = std::move(print); }
  /// The output is appended to existing steps, and so is its log.
  void append() noexcept { appends_ = true; }

  bool explains() const noexcept { return explain_ != nullptr; }
  OutputStats& stats() noexcept { return stats_; }
  /// Null if `auto` must not learn.
  plan::Tuner* tuner() noexcept { return options_.autotune ? &tuner_ : nullptr; }
  /// Writes settled commits to the log. Outside of an OutputStats::Call.
  void log_settled();
  /// After a commit: the choice of `auto`, if that is reported.
  void tell_choice();

  // -- collective ---------------------------------------------------------------------------------
  void print_totals(const plan::Totals& mine, const std::string& format);
  /// For a commit that has returned; `pending`: null if it is not in flight any more. With
  /// Log::steps its bytes become those of all ranks.
  void note(CommitCost commit, const std::shared_ptr<PendingCommit>& pending);
  /// When everything has been written.
  void tell_costs();

 private:
  bool is_told() const { return options_.log == Log::line || options_.log == Log::steps; }
  bool logs_line() const;
  void tell_comparison();

  exec::Transport& transport_;
  storage::Storage& storage_;
  const std::string& path_;
  const Options& options_;
  Print explain_;
  std::string files_reason_;  ///< empty: there was no choice, or it was reported
  Print report_;
  bool appends_ = false;
  OutputStats stats_;
  plan::Tuner tuner_;
  std::unique_ptr<StepLog> log_;  ///< rank 0, if asked for
  bool log_has_ended_ = false;    ///< it could not be written
};

}  // namespace sluice::commit
