#include "mpiio/domains.hpp"

#include <algorithm>

#include "model/round_up.hpp"
#include "mpiio/memory.hpp"

namespace sluice::mpiio {

namespace {

/// The limit of a rank's packed bytes of one round, and of all windows of a node.
constexpr std::int64_t round_bytes = std::int64_t{32} << 20;
constexpr std::int64_t most_window_bytes = std::int64_t{8} << 20;
/// A rank holds about three (cb_buffer_size).
constexpr std::int64_t most_hinted_window_bytes = std::int64_t{64} << 20;
constexpr std::int64_t least_window_bytes = 256 << 10;
/// Lists of runs take 8 bytes for each: the limit of their number in a window is about this.
constexpr std::int64_t most_window_runs = 256 << 10;
/// One rank in this many writes for the others, unless a hint gives the number: more were slower on
/// two cores (4 ranks, runs of 512 B: 0.42 s with one, 0.65 s with two, 0.83 s with four).
constexpr int ranks_for_one = 4;
constexpr int most_default_aggregators = 16;

/// Each window is in the memory of its own rank, so more of them make the rounds larger: but not
/// where one node has them all, or a rank that packs its bytes may have a whole round of them.
std::int64_t standard_window_bytes(const Load& load, int aggregators) {
  const bool is_shared = load.is_one_node || load.most_scattered > round_bytes;
  return is_shared ? std::clamp(round_bytes / aggregators, least_window_bytes, most_window_bytes)
                   : most_window_bytes;
}

}  // namespace

Run Domains::windows(int aggregator, int first, int last) const {
  const std::int64_t begin = low + aggregator * domain_bytes;
  const std::int64_t end = std::min(begin + domain_bytes, high);
  const std::int64_t from = begin + first * window_bytes;
  return {from, std::clamp<std::int64_t>(end - from, 0, (last - first) * window_bytes)};
}

BusyRounds::BusyRounds(const Domains& domains, std::span<const Run> ranges) : domains_(domains) {
  std::vector<Run> all(ranges.begin(), ranges.end());
  std::sort(all.begin(), all.end(), [](const Run& a, const Run& b) { return a.offset < b.offset; });
  for (const Run& range : all) {
    if (range.length == 0) {
      continue;
    }
    if (!ranges_.empty() && range.offset <= ranges_.back().end()) {
      Run& last = ranges_.back();
      last.length = std::max(last.end(), range.end()) - last.offset;
    } else {
      ranges_.push_back(range);
    }
  }
}

std::int64_t BusyRounds::first_in(const Run& run) const {
  const auto found =
      std::upper_bound(ranges_.begin(), ranges_.end(), run.offset,
                       [](std::int64_t place, const Run& range) { return place < range.end(); });
  return found == ranges_.end() ? run.end()
                                : std::min(std::max(found->offset, run.offset), run.end());
}

int BusyRounds::next(int round) const {
  const int rounds = domains_.rounds();
  int first = rounds;
  for (int i = 0; i < domains_.aggregators; ++i) {
    const Run rest = domains_.windows(i, round, first);
    if (const std::int64_t place = first_in(rest); place < rest.end()) {
      first = round + static_cast<int>((place - rest.offset) / domains_.window_bytes);
    }
  }
  return first;
}

Domains make_domains(const Run& range, const Load& load, int ranks, const ExchangeHints& hints) {
  Domains domains;
  // Whole stripes, where somebody says how long these are: no two ranks write in one.
  const std::int64_t unit = model::round_up(std::max(hints.stripe_bytes, page_bytes), page_bytes);
  domains.low = range.offset / unit * unit;
  domains.high = range.end();
  domains.ranks = ranks;
  const std::int64_t units = (domains.high - domains.low + unit - 1) / unit;
  const int wanted = hints.aggregators > 0 ? hints.aggregators
                                           : std::min((ranks + ranks_for_one - 1) / ranks_for_one,
                                                      most_default_aggregators);
  // No less than 64 KiB for each.
  constexpr std::int64_t least_bytes = 64 << 10;
  const std::int64_t useful = std::max<std::int64_t>(1, units * unit / std::max(least_bytes, unit));
  domains.aggregators =
      static_cast<int>(std::clamp<std::int64_t>(std::min<std::int64_t>(wanted, useful), 1, ranks));
  domains.domain_bytes = (units + domains.aggregators - 1) / domains.aggregators * unit;
  std::int64_t window = standard_window_bytes(load, domains.aggregators);
  if (hints.window_bytes > 0) {
    window = std::clamp(hints.window_bytes, least_window_bytes, most_hinted_window_bytes);
  }
  const std::int64_t run = std::clamp<std::int64_t>(load.mean_run, 1, most_window_bytes);
  window = std::clamp(run * most_window_runs, least_window_bytes, window);
  const std::int64_t whole = window >= unit ? unit : page_bytes;
  window = window / whole * whole;
  domains.window_bytes = std::min(window, domains.domain_bytes);
  return domains;
}

}  // namespace sluice::mpiio
