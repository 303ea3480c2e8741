// Which ranks write one part together: the groups of the strategies that write a set of files.
//
// Pure, and the same answer on every rank for the same arguments. Groups are numbered by their
// lowest rank, so rank 0 is always the first of group 0.
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.hpp"

namespace sluice::plan {

inline constexpr const char* per_process = "file-per-process";
inline constexpr const char* per_node = "file-per-node";

/// Does this strategy write a part a group, and an index that makes them one?
bool writes_parts(std::string_view strategy);

/// The group of `topology.rank`. file-per-process: every rank its own. file-per-node: the node's
/// ranks; with `writers` > 0 so many runs of consecutive ranks, whose sizes differ by at most one.
/// Error invalid_argument where `writers` is negative or more than there are ranks.
Group group_of(const std::string& strategy, int writers, const Topology& topology);

/// `topology` as it would be on nodes of so many consecutive ranks; unchanged for 0. Error
/// invalid_argument for a negative number.
Topology pretend(Topology topology, int ranks_per_node);

}  // namespace sluice::plan
