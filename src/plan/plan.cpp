#include "plan/plan.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "plan/groups.hpp"

namespace sluice::plan {

namespace {

RankList only_first(const Topology&, const WriterChoice&) { return RankList::spaced(0, 1, 1); }
RankList everybody(const Topology& topology, const WriterChoice&) {
  return RankList::spaced(0, 1, topology.ranks);
}

constexpr std::array<Strategy, 5> strategies{{
    {"serial", only_first, plan_serial},
    {"shared", everybody, plan_shared},
    {"collective", writer_list, plan_collective, false, true},
    {"forward", writer_list, plan_forward, false, true, true},
    {"auto", everybody, plan_auto, true, true},
}};

}  // namespace

const Strategy& strategy(std::string_view name) {
  std::string known;
  for (const Strategy& candidate : strategies) {
    if (name == candidate.name) {
      return candidate;
    }
    known += candidate.name + std::string(", ");
  }
  known += std::string(per_process) + ", " + per_node;  // these plan each part as `shared`
  throw Error(Code::invalid_argument,
              "strategy \"" + std::string(name) + "\" is not known: use one of " + known);
}

std::uint64_t count_writers(const Strategy& strategy, const Topology& topology,
                            const WriterChoice& choice) {
  return strategy.in_windows ? writer_list(topology, choice).size()
                             : strategy.openers(topology, choice).size();
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
