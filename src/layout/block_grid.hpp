// Are the blocks of all ranks the cells of one grid? Then they can be the chunks of a rectilinear
// one, and no chunk has the bytes of two ranks.
//
// Invariant: the answer depends on the set of blocks alone, not on who has which.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "layout/tiling.hpp"

namespace sluice::layout {

struct GridLimits {
  /// A larger cell is cut along its slowest dimension: readers take whole chunks.
  std::uint64_t most_bytes = 64ULL << 20;
  /// Cells that are smaller on average are no chunks: each is a file.
  std::uint64_t least_mean_bytes = 0;
};

/// The blocks of some variables, which every rank collects and one judges.
class BlockGrids {
 public:
  explicit BlockGrids(std::size_t variables) : boxes_(variables) {}
  /// Those of all ranks together.
  explicit BlockGrids(std::span<const std::vector<std::byte>> gathered);

  /// Empty boxes do not count.
  void add(std::size_t variable, const model::Box& box);
  std::vector<std::byte> to_bytes() const;
  /// The tiling whose tiles are the blocks, or whole parts of them; nothing where the blocks are no
  /// grid that covers the shape.
  std::optional<Tiling> tiling(std::size_t variable, const model::Dims& shape,
                               std::uint64_t element_bytes, const GridLimits& limits) const;

 private:
  std::vector<std::vector<model::Box>> boxes_;  ///< by variable
};

}  // namespace sluice::layout
