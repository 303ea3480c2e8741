// Which ranks write one part together: the groups of strategies that write a set of files.
//
// Pure, with the same result on every rank for the same arguments. Groups are numbered by their
// lowest rank, so rank 0 is always the first rank of group 0.
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.hpp"

namespace sluice::plan {

inline constexpr const char* per_process = "file-per-process";
inline constexpr const char* per_node = "file-per-node";

/// Does this strategy write one part for each group, and an index over the parts?
bool writes_parts(std::string_view strategy);

/// The group of `topology.rank`. file-per-process: every rank is a group. file-per-node: the ranks
/// of a node; with `writers` > 0 that many groups of consecutive ranks, whose sizes differ by at
/// most one. Error invalid_argument if `writers` is negative or larger than the number of ranks.
Group group_of(const std::string& strategy, int writers, const Topology& topology);

/// `topology` with nodes of that many consecutive ranks; unchanged for 0. Error invalid_argument
/// for a negative number.
Topology pretend(Topology topology, int ranks_per_node);

}  // namespace sluice::plan
