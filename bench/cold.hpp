// Dropping files from the page cache.
#pragma once

#include "common.hpp"

namespace sluice::bench {

/// On rank 0: nothing of the file is in memory afterwards. Throws std::runtime_error where the file
/// system keeps more than a hundredth of it. Collective.
void make_cold(const World& world, const std::string& path);

}  // namespace sluice::bench
