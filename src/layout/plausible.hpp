// Checks of numbers in a file against limits before memory is allocated for them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace sluice::layout {

/// The addresses of all tiles of a step are kept in memory, including tiles that do not exist in
/// the file.
inline constexpr std::uint64_t most_tiles_of_a_store = 1 << 20;
/// For a file whose variables may have far more rows than any step has; each existing tile takes
/// some bytes of an index.
inline std::uint64_t most_tiles_of_a_file(std::uint64_t file_bytes) {
  constexpr std::uint64_t always = 1 << 24;
  return std::max(always, file_bytes / sizeof(std::uint64_t));
}

/// Error over_budget, naming `what`, if `count` is more than `most`.
void require_plausible_tiles(const std::string& what, std::uint64_t count, std::uint64_t most);

}  // namespace sluice::layout
