// Some ranks write whole tiles, after an exchange in rounds (two-phase I/O).
#include <algorithm>
#include <bit>

#include "plan/costs.hpp"

namespace sluice::plan {

extern const Strategy collective_strategy;

namespace {

/// Longer windows gain nothing on any disk measured; shorter ones cost a synchronisation of all
/// ranks each.
constexpr std::uint64_t largest_window_bytes = 8ULL << 20;
constexpr std::uint64_t smallest_window_bytes = 4ULL << 10;
constexpr std::uint64_t page_bytes = 4096;

/// A writer has three windows being filled or written, one being received and one being sent;
/// packed data takes a quarter of the budget.
constexpr std::uint64_t windows_in_budget = 8;
constexpr std::uint64_t windows_of_writer = 5;
constexpr std::uint64_t windows_of_feeder = 1;

}  // namespace

std::uint64_t window_bytes(const WriterChoice& choice) {
  std::uint64_t window = std::clamp(choice.budget_bytes / windows_in_budget, smallest_window_bytes,
                                    largest_window_bytes);
  if (choice.coalesce_bytes != 0) {
    window = std::clamp(choice.coalesce_bytes, smallest_window_bytes, window);
  }
  const std::uint64_t tile = choice.tile_bytes != 0 ? choice.tile_bytes : default_tile_bytes;
  // Whole tiles if several fit, so that no write is shorter than necessary.
  window -= window % (tile <= window ? tile : page_bytes);
  return window;
}

TileMap tile_map(const Topology& topology, const WriterChoice& choice,
                 const layout::Extent& space) {
  const std::uint64_t tile = choice.tile_bytes != 0 ? choice.tile_bytes : default_tile_bytes;
  RankList writers = writer_list(topology, choice);
  return choice.cyclic ? TileMap::cyclic(std::move(writers), tile, space)
                       : TileMap::runs(std::move(writers), tile, space);
}

Plan plan_collective(const Input& input) {
  Plan plan;
  plan.strategy = collective_strategy.name;
  plan.flow = Flow::two_phase;
  plan.tiles = tile_map(input.topology, input.choice, input.space);
  plan.window_bytes = window_bytes(input.choice);
  // A portion is packed as a whole, even if the budget is smaller.
  std::uint64_t largest = 0;
  std::uint64_t all = 0;
  for (const std::uint64_t bytes : input.portion_sizes) {
    largest = std::max(largest, bytes);
    all += bytes;
  }
  plan.packed_bytes = std::max(input.choice.budget_bytes / 4, largest);
  const bool is_writer = plan.tiles.index_of(input.topology.rank) >= 0;
  plan.buffer_bytes = std::min(all, plan.packed_bytes) +
                      plan.window_bytes * (is_writer ? windows_of_writer : windows_of_feeder);
  return plan;
}

namespace {

/// Does each server have one writer for all its stripes, so that no two writers compete for it?
bool has_own_servers(const MachineRates& rates, const Candidate& candidate) {
  const auto stripes = static_cast<int>(rates.stripes);
  const int writers = candidate.choice.writers;
  return candidate.choice.cyclic && candidate.choice.tile_bytes == rates.stripe_bytes &&
         (writers % stripes == 0 || stripes % writers == 0);
}

/// Rounds with their checksums: who sends how much, and the confirmation that everything arrived.
constexpr double barriers_of_round = 2;

/// The number of nodes that have bytes in the windows of a round and in those being written. Long
/// runs of one rank follow those of another, so it is small if a node has more than the windows
/// take.
double sending_nodes(const Load& load, double windows_bytes) {
  const double longest =
      std::min(load.bytes / load.ranks, static_cast<double>(layout::portion_bytes));
  if (load.run_bytes < longest) {
    return load.nodes;
  }
  const double node_bytes = load.bytes / load.nodes;
  return std::clamp(0.5 + 2 * windows_bytes / node_bytes, 1.0, load.nodes);
}

double collective_s(const Input& input, const Candidate& candidate) {
  const MachineRates& rates = input.rates;
  const Load load = load_of(input);
  const double writers = candidate.choice.writers;
  const double written_s =
      write_s(rates, load, writers, rates.stripes != 0 && has_own_servers(rates, candidate));
  const double cores = std::min<double>(rates.cores, load.ranks / load.nodes);
  const double node_rate =
      std::min(cores * rates.exchange_bytes_per_s, rates.exchange_most_bytes_per_s);
  const double windows = static_cast<double>(window_bytes(candidate.choice)) * writers;
  double sent_s = load.bytes / load.nodes / node_rate;
  if (load.nodes > 1) {
    const double links = std::min({writers, load.nodes, sending_nodes(load, windows)});
    sent_s += load.bytes * (1 - 1 / load.nodes) / links / rates.link_bytes_per_s;
  }
  // The next window is received while one is written.
  const double rounds = std::max(1.0, load.bytes / windows);
  const auto steps = static_cast<double>(std::bit_width(static_cast<unsigned>(load.ranks)));
  return std::max(written_s, sent_s) + std::min(written_s, sent_s) / rounds +
         (rounds + 1) * barriers_of_round * rates.barrier_s * steps;
}

/// Numbers of writers worth comparing, ascending.
std::vector<int> writer_counts(const Input& input) {
  const Topology& topology = input.topology;
  const WriterChoice& asked = input.choice;
  if (asked.writers != 0 || asked.first_writer != 0 || asked.writer_spacing != 0 ||
      asked.writer_map != "spaced") {
    return {static_cast<int>(writer_list(topology, asked).size())};
  }
  std::vector<int> counts;
  const auto stripes = static_cast<int>(input.rates.stripes);
  for (const int count : {1, topology.nodes, default_writers_per_node * topology.nodes, stripes,
                          2 * stripes, 4 * stripes}) {
    if (count > 0) {
      counts.push_back(std::min(count, topology.ranks));
    }
  }
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

std::vector<Candidate> candidates_of_collective(const Input& input) {
  std::vector<Candidate> candidates;
  if (input.topology.ranks == 1) {
    return candidates;
  }
  for (const int writers : writer_counts(input)) {
    Candidate candidate{collective_strategy.name, input.choice, 0};
    candidate.choice.writers = writers;
    // If a file has stripes, each stripe should always have the same writer.
    candidate.choice.cyclic = input.choice.cyclic || (input.rates.stripes > 1 && writers > 1);
    candidates.push_back(candidate);
    if (input.rates.reach == model::Reach::unknown && writers > 1 && !candidate.choice.cyclic) {
      // The formulas give the same for both; but that there are no stripes is not known.
      candidate.choice.cyclic = true;
      candidates.push_back(candidate);
    }
  }
  return candidates;
}

std::string writers_text(const Candidate& candidate) {
  return " with " + std::to_string(candidate.choice.writers) +
         (candidate.choice.writers == 1 ? " writer" : " writers") +
         (candidate.choice.cyclic && candidate.choice.writers != 1 ? " (cyclic)" : "");
}

}  // namespace

constinit const Strategy collective_strategy{
    .name = "collective",
    .openers = writer_list,
    .plan = plan_collective,
    .in_windows = true,
    .candidates = candidates_of_collective,
    .seconds = collective_s,
    .count_text = writers_text,
};

}  // namespace sluice::plan
