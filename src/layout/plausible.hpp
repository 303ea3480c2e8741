// Numbers that a file claims, held against what it can hold before memory is taken for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace sluice::layout {

/// Places of all tiles of a step are held in memory, also of those that a file leaves out, for
/// which nothing in it stands.
inline constexpr std::uint64_t most_tiles_of_a_store = 1 << 20;
/// In a file whose variables may have far more rows than any step has; each tile that is there
/// takes some bytes of an index.
inline std::uint64_t most_tiles_of_a_file(std::uint64_t file_bytes) {
  constexpr std::uint64_t always = 1 << 24;
  return std::max(always, file_bytes / sizeof(std::uint64_t));
}

/// Error over_budget, which says of what, where `count` is more than `most`.
void require_plausible_tiles(const std::string& what, std::uint64_t count, std::uint64_t most);

}  // namespace sluice::layout
