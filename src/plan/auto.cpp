#include "plan/auto.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <utility>

#include "plan/totals.hpp"

namespace sluice::plan {

namespace {

/// Sending bytes must save at least this share of the time.
constexpr double worth_sending = 0.05;
/// So must several files, which are harder to handle.
constexpr double worth_more_files = 0.1;

/// The load is not known before the first put.
Input of_assumed_load(Input input) {
  input.bytes = assumed_rank_bytes * static_cast<std::uint64_t>(input.topology.ranks);
  input.mean_run_bytes = assumed_run_bytes;
  input.space = {0, input.bytes};
  return input;
}

/// The candidates of all strategies that are compared, with their seconds, in the order of the
/// list.
std::vector<Candidate> compared(const Input& input, bool in_sets) {
  std::vector<Candidate> candidates;
  for (const Strategy* row : strategies()) {
    if (row->candidates == nullptr || (row->group != nullptr) != in_sets) {
      continue;
    }
    for (Candidate& candidate : row->candidates(input)) {
      candidate.seconds = row->seconds(input, candidate);
      candidates.push_back(std::move(candidate));
    }
  }
  return candidates;
}

std::string place_text(const MachineRates& rates) {
  std::string text = rates.kind.empty() ? "a file system of unknown kind" : rates.kind;
  if (rates.stripes > 1) {
    text += " of " + std::to_string(rates.stripes) + " stripes of " + size_text(rates.stripe_bytes);
  }
  return text;
}

std::string reason_of(const Input& input, const Candidate& best, const Candidate* next) {
  const bool is_dealt =
      strategy(best.strategy).in_windows && best.choice.cyclic && input.rates.stripes > 1;
  std::string text = name_of(best) + (is_dealt ? ", each with its own stripes" : "") +
                     ": runs of " + size_text(input.mean_run_bytes) + " of " +
                     std::to_string(input.topology.ranks) + " ranks on " + place_text(input.rates) +
                     " take about " + seconds_text(best.seconds);
  if (next != nullptr) {
    text += ", by " + name_of(*next) + " " + seconds_text(next->seconds);
  }
  return text;
}

}  // namespace

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2g s", seconds);
  return text.data();
}

std::string name_of(const Candidate& candidate) {
  const Strategy& row = strategy(candidate.strategy);
  return row.name + (row.count_text != nullptr ? row.count_text(candidate) : std::string());
}

double seconds_of(const Input& input, const Candidate& candidate) {
  return strategy(candidate.strategy).seconds(input, candidate);
}

std::vector<Candidate> candidates_of(const Input& input) { return compared(input, false); }

Decision decide(const Input& input) {
  const std::vector<Candidate> candidates = candidates_of(input);
  const auto least = std::min_element(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
  const bool sends = least->seconds < (1 - worth_sending) * candidates.front().seconds;
  const Candidate& best = sends ? *least : candidates.front();
  const Candidate* next = nullptr;
  for (const Candidate& candidate : candidates) {
    const bool is_other = candidate.strategy != best.strategy;
    next = is_other && (next == nullptr || candidate.seconds < next->seconds) ? &candidate : next;
  }
  return {best, reason_of(input, best, next)};
}

Decision decide_files(const Input& input) {
  const Input assumed = of_assumed_load(input);
  const Candidate one = decide(assumed).candidate;
  std::optional<Candidate> set;
  for (const Candidate& candidate : compared(assumed, true)) {
    set = !set || candidate.seconds < set->seconds ? candidate : set;
  }
  const bool is_set = set && set->seconds < (1 - worth_more_files) * one.seconds;
  std::string reason = (is_set ? name_of(*set) : "one file") + ": on " + place_text(input.rates) +
                       " a commit, taken to be " + size_text(assumed_rank_bytes) + " of each of " +
                       std::to_string(input.topology.ranks) + " ranks, takes about " +
                       seconds_text(is_set ? set->seconds : one.seconds);
  if (set) {
    reason += is_set ? ", in one file " + seconds_text(one.seconds)
                     : ", by " + name_of(*set) + " " + seconds_text(set->seconds);
  }
  return {is_set ? *set : one, std::move(reason)};
}

Plan plan_of(const Input& input, const Decision& decision) {
  Input chosen = input;
  chosen.choice = decision.candidate.choice;
  Plan plan = strategy(decision.candidate.strategy).plan(chosen);
  plan.reason = decision.reason;
  plan.predicted_s = decision.candidate.seconds;
  return plan;
}

namespace {

Plan plan_auto(const Input& input) { return plan_of(input, decide(input)); }

}  // namespace

extern const Strategy auto_strategy;
constinit const Strategy auto_strategy{
    .name = "auto",
    .openers = all_ranks,  // each may have to write, whatever is chosen
    .plan = plan_auto,
    .writers = writer_list,
    .chooses = true,
    .in_windows = true,
};

}  // namespace sluice::plan
