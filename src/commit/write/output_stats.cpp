#include "commit/write/output_stats.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "plan/totals.hpp"

namespace sluice::commit {

namespace {

/// Ratios of measurement to prediction: reported without request, and with advice.
constexpr double far_off = 10;
constexpr double worth_advice = 3;
/// Smaller differences are not reported, whatever was predicted.
constexpr double worth_telling_s = 1;

}  // namespace

double Cost::overlap_percent() const {
  const double all_s = visible_s + hidden_s;
  return all_s > 0 ? 100 * hidden_s / all_s : 0;
}

double Cost::bytes_per_s() const {
  const double all_s = visible_s + hidden_s;
  return all_s > 0 ? static_cast<double>(bytes) / all_s : 0;
}

OutputStats::Call::Call(OutputStats* stats) : stats_(stats) {
  if (stats_ != nullptr && stats_->depth_++ == 0) {
    stats_->enter();
  }
}

OutputStats::Call::~Call() {
  if (stats_ != nullptr && --stats_->depth_ == 0) {
    stats_->leave();
  }
}

void OutputStats::enter() {
  entered_s_ = clock_();
  double longest_s = 0;
  for (OnWay& each : on_way_) {
    const Outcome outcome = each.look ? each.look() : Outcome{left_s_, false};
    const double until_s =
        outcome.settled_s != 0 ? std::min(outcome.settled_s, entered_s_) : entered_s_;
    const double hidden_s = std::max(0.0, until_s - left_s_);
    each.commit.cost.hidden_s += hidden_s;
    longest_s = std::max(longest_s, hidden_s);
  }
  total_.hidden_s += longest_s;
}

void OutputStats::leave() {
  left_s_ = clock_();
  const double inside_s = left_s_ - entered_s_;
  total_.visible_s += inside_s;
  for (OnWay& each : on_way_) {
    each.commit.cost.visible_s += each.is_new ? inside_s : 0;
    each.is_new = false;
  }
}

void OutputStats::add(const CommitCost& commit, Look look) {
  on_way_.push_back({commit, std::move(look), true});
  steps_ += commit.is_step ? 1 : 0;
  total_.bytes += commit.cost.bytes;
  total_.waiting_s += commit.cost.waiting_s;
}

std::vector<CommitCost> OutputStats::take_settled() {
  std::vector<CommitCost> settled;
  while (!on_way_.empty() && !on_way_.front().is_new) {
    OnWay& oldest = on_way_.front();
    const Outcome outcome = oldest.look ? oldest.look() : Outcome{left_s_, false};
    // What completed since the last call had time beside the caller, which the next call will add.
    if (outcome.settled_s == 0 || outcome.settled_s > left_s_) {
      break;
    }
    oldest.commit.failed = outcome.failed;
    oldest.commit.durable = oldest.commit.durable && !outcome.failed;
    settled.push_back(oldest.commit);
    on_way_.pop_front();
  }
  return settled;
}

Cost OutputStats::total() const {
  Cost total = total_;
  total.visible_s += depth_ > 0 ? clock_() - entered_s_ : 0;
  return total;
}

void OutputStats::choose(const std::string& reason) {
  choice_.is_new = choice_.is_new || reason != choice_.reason;
  choice_.reason = reason;
}

void OutputStats::compare(double predicted_s, double measured_s) {
  ++choice_.commits;
  choice_.predicted_s += predicted_s;
  choice_.measured_s += measured_s;
}

std::string OutputStats::take_new_reason() {
  return std::exchange(choice_.is_new, false) ? choice_.reason : std::string();
}

bool is_far_off(const Choice& choice) {
  return choice.measured_s > far_off * choice.predicted_s &&
         choice.measured_s > worth_telling_s + choice.predicted_s;
}

std::string line_of(const Choice& choice, bool is_in_objects) {
  std::array<char, 120> text{};
  std::snprintf(text.data(), text.size(), "auto: %llu %s predicted to take %.2g s, took %.2g s",
                static_cast<unsigned long long>(choice.commits),
                choice.commits == 1 ? "commit" : "commits", choice.predicted_s, choice.measured_s);
  std::string line = text.data();
  if (!choice.tried.empty()) {
    line += "; trials, time of a commit: " + choice.tried;
  }
  if (choice.measured_s > worth_advice * choice.predicted_s) {
    line += is_in_objects
                ? ": this object store is slower than was assumed"
                : ": this file system is slower than was assumed; `sluice bench --on` its "
                  "folder says which strategy is the fastest there";
  }
  return line;
}

std::string line_of(const Cost& total, std::uint64_t steps, bool durable) {
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(),
                "%llu %s, %s: visible %.3f s (%.3f s of it for room in the budget), hidden %.3f s, "
                "overlap %.0f %%, %.0f MB/s %s",
                static_cast<unsigned long long>(steps), steps == 1 ? "step" : "steps",
                plan::size_text(total.bytes).c_str(), total.visible_s, total.waiting_s,
                total.hidden_s, total.overlap_percent(), total.bytes_per_s() * 1e-6,
                durable ? "durable" : "written");
  return text.data();
}

std::string line_of(const CommitCost& commit) {
  nlohmann::ordered_json line;
  line["step"] = nullptr;
  if (commit.is_step) {
    line["step"] = commit.step;
  }
  line["time"] = commit.time;  // null if none was given
  line["bytes"] = commit.cost.bytes;
  line["visible_s"] = commit.cost.visible_s;
  line["waiting_s"] = commit.cost.waiting_s;
  line["hidden_s"] = commit.cost.hidden_s;
  line["overlap_percent"] = commit.cost.overlap_percent();
  line["durable"] = commit.durable;
  line["failed"] = commit.failed;
  return line.dump() + "\n";
}

}  // namespace sluice::commit
