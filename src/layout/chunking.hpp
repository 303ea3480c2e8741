// Which tiles (HDF5 chunks) a stepped variable gets: such that the block of a rank is few, long
// extents of the file.
#pragma once

#include "model/box.hpp"

namespace sluice::layout {

/// What all ranks' blocks of one variable have in common; per dimension. Combined over ranks by
/// gcd (boundary_gcd) and max (largest_count).
struct Decomposition {
  /// Greatest common divisor of all block boundaries inside the shape; 0: no boundary inside.
  model::Dims boundary_gcd;
  model::Dims largest_count;

  explicit Decomposition(int rank = 0)
      : boundary_gcd(model::Dims::filled(rank, 0)), largest_count(model::Dims::filled(rank, 0)) {}
  void add(const model::Box& block, const model::Dims& shape);
};

/// The limits of a tile's size. HDF5 1.x refuses chunks of 4 GiB; below the lower bound the index
/// grows faster than what aligned blocks save.
inline constexpr std::uint64_t largest_tile_bytes = 1ULL << 30;
inline constexpr std::uint64_t smallest_aligned_tile_bytes = 64ULL << 10;

/// A tile for `shape` (no dimension 0 in the result, so that zero-size shapes work too).
/// Blocks that are cut along the slowest dimension only: whole steps, split into rows above
/// largest_tile_bytes. Blocks cut along several: the largest tile of which every block is made, or
/// the largest block where they have no common one.
model::Dims choose_tile(const model::Dims& shape, std::uint64_t element_bytes,
                        const Decomposition& decomposition);

/// Takes rows (of the slowest dimension) from `tile` until it is at most `limit_bytes`, or one row.
void limit_rows(model::Dims& tile, std::uint64_t element_bytes, std::uint64_t limit_bytes);

}  // namespace sluice::layout
