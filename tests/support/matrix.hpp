// The table of cells after a run of the conformance suite.
#pragma once

#include <string>
#include <vector>

namespace sluice::test {

/// Prints how many behaviours passed in each cell that ran, how many its layout does not have, and
/// which cells there are not. `names`: of all cells, in order. Tests are told by their value_param,
/// which is the name of their cell.
void print_matrix(const std::vector<std::string>& names);

}  // namespace sluice::test
