// The table of cells after a run of the conformance suite.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/world.hpp"

namespace sluice::test {

/// Prints how many behaviours passed in each cell that ran, how many its layout does not support,
/// and which cells do not exist. `names`: of all cells, in order. Tests are identified by their
/// value_param, which is the name of their cell.
void print_matrix(const std::vector<std::string>& names);

/// The ranks and the storage on which the behaviours of a cell run.
using MakeWorld = std::function<std::unique_ptr<World>(const Cell& cell)>;

/// Registers a behaviour as a test in each of `cells`. The arguments before are those of
/// register_behaviour().
void register_in_cells(const char* group, const char* name, const char* file, int line,
                       BehaviourBody body, const std::vector<Cell>& cells,
                       const MakeWorld& make_world);

}  // namespace sluice::test
