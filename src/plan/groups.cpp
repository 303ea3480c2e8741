#include "plan/groups.hpp"

namespace sluice::plan {

namespace {

/// The g for which `rank` lies in [ranks * g / count, ranks * (g + 1) / count).
int run_of(int rank, int ranks, int count) {
  const auto position = static_cast<long long>(rank);
  return static_cast<int>(((position + 1) * count - 1) / ranks);
}

}  // namespace

bool writes_parts(std::string_view strategy) {
  return strategy == per_process || strategy == per_node;
}

Group group_of(const std::string& strategy, int writers, const Topology& topology) {
  if (strategy == per_process) {
    return {topology.rank, topology.ranks};
  }
  if (writers < 0 || writers > topology.ranks) {
    throw Error(Code::invalid_argument, "strategy " + strategy +
                                            ": writers = " + std::to_string(writers) +
                                            ", but there are " + std::to_string(topology.ranks) +
                                            " ranks: use 1 to that many, or 0 for the nodes");
  }
  if (writers == 0) {
    return {topology.node, topology.nodes};
  }
  return {run_of(topology.rank, topology.ranks, writers), writers};
}

Topology pretend(Topology topology, int ranks_per_node) {
  if (ranks_per_node < 0) {
    throw Error(Code::invalid_argument,
                "ranks_per_node = " + std::to_string(ranks_per_node) + ": must not be negative");
  }
  if (ranks_per_node > 0) {
    topology.node = topology.rank / ranks_per_node;
    topology.nodes = (topology.ranks - 1) / ranks_per_node + 1;
  }
  return topology;
}

}  // namespace sluice::plan
