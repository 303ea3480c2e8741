// Names of dimensions in a copy.
#pragma once

#include <string>
#include <vector>

#include "layout/format.hpp"
#include "model/definition.hpp"

namespace sluice::commit {

/// Drops the names of dimensions that the format cannot hold together, and appends the variables
/// to `unnamed`: netCDF-4 holds a name with one size, and that of the steps stays. Those that stay
/// may refuse a variable that has none.
void drop_names(const layout::Format& format, std::vector<model::Definition>& definitions,
                std::vector<std::string>& unnamed);

}  // namespace sluice::commit
