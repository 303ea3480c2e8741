#include "plan/auto.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <utility>

#include "plan/totals.hpp"

namespace sluice::plan {

namespace {

/// Bytes that are sent must save this part of the time.
constexpr double worth_sending = 0.05;
/// So must several files, which are more trouble.
constexpr double worth_more_files = 0.1;

/// The load is not known before something is put.
Input of_assumed_load(Input input) {
  input.bytes = assumed_rank_bytes * static_cast<std::uint64_t>(input.topology.ranks);
  input.mean_run_bytes = assumed_run_bytes;
  input.space = {0, input.bytes};
  return input;
}

/// The ways of all strategies that are compared, with their seconds, in the order of the list.
std::vector<Way> compared(const Input& input, bool in_sets) {
  std::vector<Way> ways;
  for (const Strategy* row : strategies()) {
    if (row->ways == nullptr || (row->group != nullptr) != in_sets) {
      continue;
    }
    for (Way& way : row->ways(input)) {
      way.seconds = row->seconds(input, way);
      ways.push_back(std::move(way));
    }
  }
  return ways;
}

std::string place_text(const Ground& ground) {
  std::string text = ground.kind.empty() ? "a file system of unknown kind" : ground.kind;
  if (ground.stripes > 1) {
    text +=
        " of " + std::to_string(ground.stripes) + " stripes of " + size_text(ground.stripe_bytes);
  }
  return text;
}

std::string reason_of(const Input& input, const Way& best, const Way* next) {
  const bool is_dealt =
      strategy(best.strategy).in_windows && best.choice.cyclic && input.ground.stripes > 1;
  std::string text = name_of(best) + (is_dealt ? ", each with its own stripes" : "") +
                     ": runs of " + size_text(input.mean_run_bytes) + " of " +
                     std::to_string(input.topology.ranks) + " ranks on " +
                     place_text(input.ground) + " take about " + seconds_text(best.seconds);
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

std::string name_of(const Way& way) {
  const Strategy& row = strategy(way.strategy);
  return row.name + (row.count_text != nullptr ? row.count_text(way) : std::string());
}

double seconds_of(const Input& input, const Way& way) {
  return strategy(way.strategy).seconds(input, way);
}

std::vector<Way> ways_of(const Input& input) { return compared(input, false); }

Decision decide(const Input& input) {
  const std::vector<Way> ways = ways_of(input);
  const auto least = std::min_element(
      ways.begin(), ways.end(), [](const Way& a, const Way& b) { return a.seconds < b.seconds; });
  const bool sends = least->seconds < (1 - worth_sending) * ways.front().seconds;
  const Way& best = sends ? *least : ways.front();
  const Way* next = nullptr;
  for (const Way& way : ways) {
    const bool is_other = way.strategy != best.strategy;
    next = is_other && (next == nullptr || way.seconds < next->seconds) ? &way : next;
  }
  return {best, reason_of(input, best, next)};
}

Decision decide_files(const Input& input) {
  const Input assumed = of_assumed_load(input);
  const Way one = decide(assumed).way;
  std::optional<Way> set;
  for (const Way& way : compared(assumed, true)) {
    set = !set || way.seconds < set->seconds ? way : set;
  }
  const bool is_set = set && set->seconds < (1 - worth_more_files) * one.seconds;
  std::string reason = (is_set ? name_of(*set) : "one file") + ": on " + place_text(input.ground) +
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
  chosen.choice = decision.way.choice;
  Plan plan = strategy(decision.way.strategy).plan(chosen);
  plan.reason = decision.reason;
  plan.predicted_s = decision.way.seconds;
  return plan;
}

namespace {

Plan plan_auto(const Input& input) { return plan_of(input, decide(input)); }

/// Whatever is taken, every rank may have to write.
RankList all_ranks(const Topology& topology, const WriterChoice&) {
  return RankList::spaced(0, 1, topology.ranks);
}

}  // namespace

extern const Strategy auto_strategy;
constinit const Strategy auto_strategy{
    .name = "auto",
    .openers = all_ranks,
    .plan = plan_auto,
    .writers = writer_list,
    .chooses = true,
    .in_windows = true,
};

}  // namespace sluice::plan
