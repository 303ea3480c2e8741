#include "plan/plan.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "plan/groups.hpp"

namespace sluice::plan {

namespace {

bool only_first(const Topology& topology, const WriterChoice&) { return topology.rank == 0; }
bool everybody(const Topology&, const WriterChoice&) { return true; }
bool chosen(const Topology& topology, const WriterChoice& choice) {
  return writer_list(topology, choice).index_of(topology.rank) >= 0;
}

constexpr std::array<Strategy, 5> strategies{{
    {"serial", only_first, plan_serial},
    {"shared", everybody, plan_shared},
    {"collective", chosen, plan_collective, false, true},
    {"forward", chosen, plan_forward, false, true, true},
    {"auto", everybody, plan_auto, true, true},
}};

}  // namespace

const Strategy& strategy(const std::string& name) {
  std::string known;
  for (const Strategy& candidate : strategies) {
    if (name == candidate.name) {
      return candidate;
    }
    known += candidate.name + std::string(", ");
  }
  known += std::string(per_process) + ", " + per_node;  // these plan each part as `shared`
  throw Error(Code::invalid_argument,
              "strategy \"" + name + "\" is not known: use one of " + known);
}

std::uint64_t count_writers(const Strategy& strategy, Topology topology,
                            const WriterChoice& choice) {
  if (strategy.in_windows) {
    return writer_list(topology, choice).size();
  }
  topology.rank = topology.ranks - 1;  // either rank 0 alone, or all of them
  return strategy.writes(topology, choice) ? static_cast<std::uint64_t>(topology.ranks) : 1;
}

Transfer everything_to(int writer, const Input& input) {
  Transfer transfer;
  transfer.writer = writer;
  transfer.portions.resize(input.portions.size());
  std::iota(transfer.portions.begin(), transfer.portions.end(), 0U);
  transfer.bytes =
      std::accumulate(input.portion_sizes.begin(), input.portion_sizes.end(), std::uint64_t{0});
  return transfer;
}

std::string Plan::text() const {
  std::string text = strategy + ": buffer " + std::to_string(buffer_bytes) + " bytes, " +
                     std::to_string(feeders.size()) + " feeders\n";
  for (const Transfer& transfer : transfers) {
    text += "  to rank " + std::to_string(transfer.writer) + ": " +
            std::to_string(transfer.portions.size()) + " portions, " +
            std::to_string(transfer.bytes) + " bytes\n";
  }
  if (flow == Flow::rounds || flow == Flow::background) {
    text += "  " + tiles.text() + ", windows of " + std::to_string(window_bytes) + " bytes\n";
  }
  return text;
}

}  // namespace sluice::plan
