#include "layout/chunking.hpp"

#include <algorithm>
#include <numeric>

namespace sluice::layout {

using model::Box;
using model::Dims;

void Decomposition::add(const Box& block, const Dims& shape) {
  if (block.empty()) {
    return;
  }
  for (int d = 0; d < shape.rank(); ++d) {
    boundary_gcd[d] = std::gcd(boundary_gcd[d], block.start[d]);
    if (block.end(d) != shape[d]) {
      boundary_gcd[d] = std::gcd(boundary_gcd[d], block.end(d));
    }
    largest_count[d] = std::max(largest_count[d], block.count[d]);
  }
}

namespace {

std::uint64_t bytes_of(const Dims& tile, std::uint64_t element_bytes) {
  return model::checked_product(tile.volume(), element_bytes, "tile size");
}

/// Cuts the slowest dimensions until the tile is small enough, each to the rows that fit: fast ones
/// stay whole, so that runs stay long.
Dims limited(Dims tile, std::uint64_t element_bytes) {
  for (int d = 0; d < tile.rank() && bytes_of(tile, element_bytes) > largest_tile_bytes; ++d) {
    const std::uint64_t row = bytes_of(tile, element_bytes) / tile[d];
    tile[d] = std::max<std::uint64_t>(1, largest_tile_bytes / row);
  }
  return tile;
}

}  // namespace

Dims choose_tile(const Dims& shape, std::uint64_t element_bytes, const Decomposition& decomposition,
                 std::uint64_t least_bytes) {
  bool only_slowest_is_cut = true;
  for (int d = 1; d < shape.rank(); ++d) {
    only_slowest_is_cut = only_slowest_is_cut && decomposition.boundary_gcd[d] == 0;
  }
  Dims whole;
  Dims common;
  Dims largest;
  for (int d = 0; d < shape.rank(); ++d) {
    const std::uint64_t extent = std::max<std::uint64_t>(1, shape[d]);
    const bool is_cut = decomposition.boundary_gcd[d] != 0;
    whole.push_back(extent);
    common.push_back(is_cut ? decomposition.boundary_gcd[d] : extent);
    largest.push_back(is_cut ? decomposition.largest_count[d] : extent);
  }
  if (only_slowest_is_cut) {
    return limited(whole, element_bytes);
  }
  const bool common_is_large = bytes_of(common, element_bytes) >= least_bytes;
  return limited(common_is_large ? common : largest, element_bytes);
}

void limit_rows(Dims& tile, std::uint64_t element_bytes, std::uint64_t limit_bytes) {
  if (!tile.empty()) {
    const std::uint64_t row_bytes = bytes_of(tile, element_bytes) / tile[0];
    tile[0] = std::clamp<std::uint64_t>(limit_bytes / row_bytes, 1, tile[0]);
  }
}

}  // namespace sluice::layout
