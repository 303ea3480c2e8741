// What an output costs, told by the option `log`.
#include <utility>

#include "commit/output/output.hpp"
#include "model/clock.hpp"
#include "plan/plan.hpp"

namespace sluice::commit {

namespace {

bool writes_in_background(const std::string& name) {
  const plan::Strategy* found = plan::find_strategy(name);
  return found != nullptr && found->in_background;
}

}  // namespace

bool Output::logs_line() const {
  return is_told() || (options_.log == Log::automatic && writes_in_background(options_.strategy));
}

void Output::poll() {
  {
    const OutputStats::Call inside(&stats_);
    move_on();
  }
  log_settled();
}

bool Output::drain(double seconds) {
  bool all = false;
  {
    const OutputStats::Call inside(&stats_);
    all = wait_at_most(seconds);
  }
  log_settled();
  return all;
}

/// Collective where every commit is logged: its bytes are those of all ranks.
void Output::note_cost(const Receipt& receipt, bool is_step, double waited_s) {
  std::int64_t bytes = 0;
  for (const model::Block& block : blocks_) {
    bytes +=
        static_cast<std::int64_t>(block.box.volume() * definitions_[block.variable].type.bytes);
  }
  CommitCost commit;
  commit.is_step = is_step;
  commit.step = receipt.step;
  commit.time = is_step ? time_ : commit.time;
  commit.durable = receipt.durable;
  commit.cost.waiting_s = waited_s;
  if (options_.log == Log::steps) {
    transport_.allreduce({&bytes, 1}, exec::Op::sum);
    if (transport_.rank() == 0 && !log_ && !log_has_ended_) {
      log_ = std::make_unique<StepLog>(storage_, path_, goes_on_);
    }
  }
  commit.cost.bytes = static_cast<std::uint64_t>(bytes);
  OutputStats::Look look;
  if (receipt.pending) {
    look = [pending = receipt.pending] {
      return OutputStats::Outcome{pending->settled_s(), pending->failed()};
    };
  }
  stats_.add(commit, std::move(look));
}

/// Outside of a OutputStats::Call.
void Output::log_settled() {
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

/// After a commit: what `auto` chose, where it is asked for.
void Output::tell_choice() {
  for (const std::string& reason : {std::exchange(files_reason_, {}), stats_.take_new_reason()}) {
    if (!reason.empty() && report_ && is_told() && transport_.rank() == 0) {
      report_("auto takes " + reason);
    }
  }
}

/// Collective where `auto` chose: was it as predicted?
void Output::tell_comparison() {
  Choice choice = stats_.choice();
  if (choice.commits == 0 || !report_) {
    return;
  }
  std::int64_t longest_ns = model::to_ns(choice.measured_s);
  transport_.allreduce({&longest_ns, 1}, exec::Op::max);
  choice.measured_s = model::from_ns(longest_ns);
  choice.tried = tuner_.summary();
  if (transport_.rank() == 0 && (is_told() || is_far_off(choice))) {
    report_(line_of(choice));
  }
}

/// Collective, when everything is there.
void Output::tell_costs() {
  log_settled();
  tell_comparison();
  if (!logs_line() || !report_) {
    return;
  }
  Cost total = stats_.total();
  auto bytes = static_cast<std::int64_t>(total.bytes);
  if (options_.log != Log::steps) {  // there every rank has counted the bytes of all
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
