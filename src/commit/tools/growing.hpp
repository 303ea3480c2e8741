// What can no longer grow in a file that was made anew with all that was there.
#pragma once

#include <string>
#include <vector>

#include "layout/catalog.hpp"

namespace sluice::commit {

/// In words, a line each: unlimited dimensions of variables that were `written`, and such variables
/// without one that could be resized, these in one line.
std::vector<std::string> no_longer_growing(const std::vector<layout::Growing>& growing,
                                           const std::vector<model::Definition>& written);

}  // namespace sluice::commit
