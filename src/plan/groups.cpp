#include "plan/groups.hpp"

#include <algorithm>
#include <cmath>

#include "plan/costs.hpp"

namespace sluice::plan {

namespace {

/// The g for which `rank` lies in [ranks * g / count, ranks * (g + 1) / count).
int run_of(int rank, int ranks, int count) {
  const auto position = static_cast<long long>(rank);
  return static_cast<int>(((position + 1) * count - 1) / ranks);
}

Group own_group(int, const Topology& topology) { return {topology.rank, topology.ranks}; }

Group group_of_node(int writers, const Topology& topology) {
  if (writers < 0 || writers > topology.ranks) {
    throw Error(Code::invalid_argument, std::string("strategy ") + per_node +
                                            ": writers = " + std::to_string(writers) +
                                            ", but there are " + std::to_string(topology.ranks) +
                                            " ranks: use 1 to that many, or 0 for the nodes");
  }
  if (writers == 0) {
    return {topology.node, topology.nodes};
  }
  return {run_of(topology.rank, topology.ranks, writers), writers};
}

/// Who writes within a group: each rank its own extents of the group's file. The alternative, in
/// which the first rank writes everything, was measured: docs/strategies.md.
constexpr const char* within_group = "shared";

/// One file for each of that many groups of ranks, which write it as `shared` does. Files are
/// placed on servers at random unless each is on all of them, so the busiest server has more than
/// its share.
double set_s(const Input& input, const Candidate& candidate) {
  const MachineRates& rates = input.rates;
  const Load load = load_of(input);
  const double files = candidate.choice.writers;
  MachineRates all = rates;
  double most = rates.files_bytes_per_s;
  if (rates.stripes != 0) {
    const double of_server = files * rates.stripes / rates.servers;
    const double nodes_of_file = std::max(1.0, load.nodes / files);
    if (rates.servers > rates.stripes) {
      most /= 1 + std::sqrt(2 * std::log(rates.servers) / of_server);
    }
    all.stripes = std::min(static_cast<std::uint32_t>(files) * rates.stripes, rates.servers);
    all.touch_s *= std::min(1.0, of_server * nodes_of_file / load.nodes);
  }
  all.file_bytes_per_s = std::min(files * rates.file_bytes_per_s, most);
  double seconds = write_s(all, load, load.ranks, false) + files * rates.file_s;
  const double clients = (rates.locks_processes ? load.ranks : load.nodes) / files;
  if (rates.stripes != 0 && clients > 1) {
    seconds += locks_s(all, load, clients);
  }
  return seconds;
}

std::vector<Candidate> candidate_with(const char* name, const Input& input, int files) {
  if (files < 2) {
    return {};
  }
  Candidate candidate{name, input.choice, 0};
  candidate.choice.writers = files;
  return {candidate};
}

std::vector<Candidate> candidates_per_process(const Input& input) {
  return candidate_with(per_process, input, input.choice.writers != 0 ? 1 : input.topology.ranks);
}

std::vector<Candidate> candidates_per_node(const Input& input) {
  return candidate_with(per_node, input,
                        input.choice.writers != 0 ? input.choice.writers : input.topology.nodes);
}

std::string files_text(const Candidate& candidate) {
  return ", " + std::to_string(candidate.choice.writers) + " of them";
}

}  // namespace

extern const Strategy per_process_strategy;
extern const Strategy per_node_strategy;

constinit const Strategy per_process_strategy{
    .name = per_process,
    .group = own_group,
    .within_part = within_group,
    .candidates = candidates_per_process,
    .seconds = set_s,
};

constinit const Strategy per_node_strategy{
    .name = per_node,
    .group = group_of_node,
    .within_part = within_group,
    .candidates = candidates_per_node,
    .seconds = set_s,
    .count_text = files_text,
};

bool writes_parts(std::string_view name) {
  const Strategy* found = find_strategy(name);
  return found != nullptr && found->group != nullptr;
}

Group group_of(const std::string& name, int writers, const Topology& topology) {
  return strategy(name).group(writers, topology);
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
