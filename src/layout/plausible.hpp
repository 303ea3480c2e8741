// Checks of numbers in a file against limits before memory is allocated for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace sluice::layout {

/// Of a grid whose cuts are listed one by one.
inline constexpr std::uint64_t most_listed_tiles = 1 << 20;
/// Tiles of one step that are looked for at a time. Those that do not exist take time, no memory:
/// seconds in a folder. Nothing in a store says how many there should be.
inline constexpr std::uint64_t most_tiles_of_a_step = 1 << 24;
/// The same for a file with an index in which each existing tile takes some bytes.
inline std::uint64_t most_tiles_of_a_file(std::uint64_t file_bytes) {
  return std::max(most_tiles_of_a_step, file_bytes / sizeof(std::uint64_t));
}

/// Error over_budget, naming `what`, if `count` is more than `most`.
void require_plausible_tiles(const std::string& what, std::uint64_t count, std::uint64_t most);

}  // namespace sluice::layout
