#include "api/checkpoint/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "model/name.hpp"
#include "model/number_text.hpp"

namespace sluice::detail {

double daly_interval_s(double cost_s, double failure_interval_s) {
  const double ratio = cost_s / (2 * failure_interval_s);
  if (ratio >= 1) {
    return failure_interval_s;
  }
  return std::sqrt(2 * cost_s * failure_interval_s) * (1 + std::sqrt(ratio) / 3 + ratio / 9) -
         cost_s;
}

EndOfJob end_of_job(const CheckpointOptions& options, double wall_s) {
  if (options.end_time_s != 0) {
    return {options.end_time_s};
  }
  const char* text = std::getenv("SLURM_JOB_END_TIME");
  if (text == nullptr || *text == '\0') {
    return {};
  }
  const std::string what = "SLURM_JOB_END_TIME=" + model::quoted(text) + " is ignored: it is ";
  const std::string remedy = ": give end_time_s, or unset it";
  const std::optional<std::uint64_t> seconds = model::number_in<std::uint64_t>(text);
  if (!seconds) {
    return {0, what + "no whole number of seconds since 1970" + remedy};
  }
  if (static_cast<double>(*seconds) <= wall_s) {
    return {0, what + "a time that has passed" + remedy};
  }
  return {static_cast<double>(*seconds)};
}

Schedule::Schedule(const CheckpointOptions& options, int nodes, double end_time_s, double now_s)
    : options_(options),
      failure_interval_s_(options.failure_interval_s > 0 ? options.failure_interval_s
                                                         : node_failure_interval_s / nodes),
      end_time_s_(end_time_s),
      last_s_(now_s),
      asked_s_(now_s) {}

double Schedule::interval_s() const {
  if (options_.interval_s > 0) {
    return options_.interval_s;
  }
  return options_.interval_calls > 0 ? 0 : daly_interval_s(cost_s_, failure_interval_s_);
}

double Schedule::margin_s() const {
  constexpr double least_s = 30;
  return options_.margin_s > 0 ? options_.margin_s
                               : std::max(least_s, 2 * cost_s_ + 2 * longest_gap_s_);
}

double Schedule::left_s(double wall_s, double otherwise) const {
  return end_time_s_ > 0 ? std::max(0.0, end_time_s_ - wall_s) : otherwise;
}

Schedule::Verdict Schedule::ask(double now_s, double wall_s) {
  ++calls_;
  longest_gap_s_ = std::max(longest_gap_s_, now_s - asked_s_);
  asked_s_ = now_s;
  if (end_time_s_ > 0 && wall_s + margin_s() >= end_time_s_) {
    return Verdict::last;
  }
  const double interval = interval_s();
  const bool by_calls = options_.interval_calls > 0 && calls_ >= options_.interval_calls;
  const bool by_clock = interval > 0 && now_s - last_s_ >= interval;
  return by_calls || by_clock ? Verdict::due : Verdict::not_due;
}

void Schedule::note_saved(double now_s, double cost_s) {
  cost_s_ = has_cost_ ? (cost_s_ + cost_s) / 2 : cost_s;
  has_cost_ = true;
  last_s_ = asked_s_ = now_s;
  calls_ = 0;
}

void Schedule::note_failed(double now_s) {
  constexpr double waited = 0.9;
  last_s_ = now_s - waited * interval_s();
  asked_s_ = now_s;
  const std::uint64_t wait = std::max<std::uint64_t>(1, options_.interval_calls / 10);
  calls_ = options_.interval_calls - std::min(wait, options_.interval_calls);
}

}  // namespace sluice::detail
