// Chooses the tiles (HDF5 chunks) of a stepped variable: such that the block of a rank is in few,
// long extents of the file.
#pragma once

#include "model/box.hpp"

namespace sluice::layout {

/// What the blocks of all ranks of one variable have in common; for each dimension. Combined over
/// ranks by gcd (boundary_gcd) and max (largest_count).
struct Decomposition {
  /// Greatest common divisor of all block boundaries inside the shape; 0: no boundary inside.
  model::Dims boundary_gcd;
  model::Dims largest_count;

  explicit Decomposition(int rank = 0)
      : boundary_gcd(model::Dims::filled(rank, 0)), largest_count(model::Dims::filled(rank, 0)) {}
  void add(const model::Box& block, const model::Dims& shape);
};

/// The limits of the size of a tile. HDF5 1.x refuses chunks of 4 GiB; below the lower bound the
/// index grows more than aligned blocks save.
inline constexpr std::uint64_t largest_tile_bytes = 1ULL << 30;
inline constexpr std::uint64_t smallest_aligned_tile_bytes = 64ULL << 10;

/// Tiles at the end of a dimension are stored whole. They may make a step larger by this part of
/// it.
inline constexpr double most_waste = 0.125;
bool wastes(const model::Dims& tile, const model::Dims& shape);

/// A tile for `shape` (no dimension 0 in the result, so that zero-size shapes work too). If blocks
/// are cut along the slowest dimension only: whole steps, split into rows above largest_tile_bytes.
/// If blocks are cut along several: the largest tile of which every block consists, or the largest
/// block if they have no common one of `least_bytes`. If that wastes more than most_waste: a part
/// of the common tile, or else the smallest tile of which as many cover the shape.
model::Dims choose_tile(const model::Dims& shape, std::uint64_t element_bytes,
                        const Decomposition& decomposition,
                        std::uint64_t least_bytes = smallest_aligned_tile_bytes);

/// Divides the rows (of the slowest dimension) of `tile` equally, into as few parts as have at most
/// `limit_bytes`, or one row.
void limit_rows(model::Dims& tile, std::uint64_t element_bytes, std::uint64_t limit_bytes);

}  // namespace sluice::layout
