#include "commit/output/cost_report.hpp"

#include <utility>

#include "model/clock.hpp"
#include "plan/plan.hpp"

namespace sluice::commit {

namespace {

bool writes_in_background(const std::string& name) {
  const plan::Strategy* found = plan::find_strategy(name);
  return found != nullptr && found->in_background;
}

}  // namespace

CostReport::CostReport(exec::Transport& transport, storage::Storage& storage,
                       const std::string& path, const Options& options)
    : transport_(transport), storage_(storage), path_(path), options_(options) {}

bool CostReport::logs_line() const {
  return is_told() || (options_.log == Log::automatic && writes_in_background(options_.strategy));
}

void CostReport::print_totals(const plan::Totals& mine, const std::string& format) {
  std::int64_t sums[] = {
      static_cast<std::int64_t>(mine.files), static_cast<std::int64_t>(mine.writers),
      static_cast<std::int64_t>(mine.moved_bytes), static_cast<std::int64_t>(mine.written_bytes)};
  transport_.allreduce(sums, exec::Op::sum);
  auto largest = static_cast<std::int64_t>(mine.buffer_bytes);
  transport_.allreduce({&largest, 1}, exec::Op::max);
  if (transport_.rank() == 0) {
    const std::string& reason = stats_.choice().reason;
    explain_(
        std::string("format ") + format + ", first commit: " +
        plan::text_of({static_cast<std::uint64_t>(sums[0]), static_cast<std::uint64_t>(sums[1]),
                       static_cast<std::uint64_t>(sums[2]), static_cast<std::uint64_t>(sums[3]),
                       static_cast<std::uint64_t>(largest)},
                      transport_.size()) +
        (files_reason_.empty() ? "" : "; auto takes " + files_reason_) +
        (reason.empty() ? "" : "; auto takes " + reason));
  }
  explain_ = nullptr;
}

void CostReport::note(CommitCost commit, const std::shared_ptr<PendingCommit>& pending) {
  if (options_.log == Log::steps) {
    auto bytes = static_cast<std::int64_t>(commit.cost.bytes);
    transport_.allreduce({&bytes, 1}, exec::Op::sum);
    commit.cost.bytes = static_cast<std::uint64_t>(bytes);
    if (transport_.rank() == 0 && !log_ && !log_has_ended_) {
      log_ = std::make_unique<StepLog>(storage_, path_, appends_);
    }
  }
  OutputStats::Look look;
  if (pending) {
    look = [pending] { return OutputStats::Outcome{pending->settled_s(), pending->failed()}; };
  }
  stats_.add(commit, std::move(look));
}

void CostReport::log_settled() {
  const std::vector<CommitCost> settled = stats_.take_settled();
  if (!log_) {
    return;
  }
  log_->write(settled);
  if (!log_->failure().empty()) {
    if (report_) {
      report_("its log ends: " + log_->failure());
    }
    log_.reset();
    log_has_ended_ = true;
  }
}

void CostReport::tell_choice() {
  for (const std::string& reason : {std::exchange(files_reason_, {}), stats_.take_new_reason()}) {
    if (!reason.empty() && report_ && is_told() && transport_.rank() == 0) {
      report_("auto takes " + reason);
    }
  }
}

/// Collective if `auto` chose: did the prediction hold?
void CostReport::tell_comparison() {
  Choice choice = stats_.choice();
  if (choice.commits == 0 || !report_) {
    return;
  }
  std::int64_t longest_ns = model::to_ns(choice.measured_s);
  transport_.allreduce({&longest_ns, 1}, exec::Op::max);
  choice.measured_s = model::from_ns(longest_ns);
  choice.tried = tuner_.summary();
  if (transport_.rank() == 0 && (is_told() || is_far_off(choice))) {
    report_(line_of(choice, storage::is_object_path(path_)));
  }
}

void CostReport::tell_costs() {
  log_settled();
  tell_comparison();
  if (!logs_line() || !report_) {
    return;
  }
  Cost total = stats_.total();
  auto bytes = static_cast<std::int64_t>(total.bytes);
  if (options_.log != Log::steps) {  // there every rank has counted the bytes of all ranks
    transport_.allreduce({&bytes, 1}, exec::Op::sum);
  }
  std::int64_t longest_ns[] = {model::to_ns(total.visible_s), model::to_ns(total.waiting_s)};
  transport_.allreduce(longest_ns, exec::Op::max);
  total.bytes = static_cast<std::uint64_t>(bytes);
  total.visible_s = model::from_ns(longest_ns[0]);
  total.waiting_s = model::from_ns(longest_ns[1]);
  if (transport_.rank() == 0) {
    report_(line_of(total, stats_.steps(), options_.durability != Durability::none));
  }
}

}  // namespace sluice::commit
