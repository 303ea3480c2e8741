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

std::uint64_t tiles_along(std::uint64_t extent, std::uint64_t tile) {
  return (extent + tile - 1) / tile;
}

/// Cuts the slowest dimensions until the tile is small enough, each equally into as few parts as
/// fit: fast ones stay whole, so that runs stay long.
Dims limited(Dims tile, std::uint64_t element_bytes) {
  for (int d = 0; d < tile.rank() && bytes_of(tile, element_bytes) > largest_tile_bytes; ++d) {
    const std::uint64_t row = bytes_of(tile, element_bytes) / tile[d];
    const std::uint64_t most = std::max<std::uint64_t>(1, largest_tile_bytes / row);
    tile[d] = tiles_along(tile[d], tiles_along(tile[d], most));
  }
  return tile;
}

/// Equal parts of `common`, of which each block consists too, that waste less at the end.
Dims parts_of(const Dims& common, const Dims& whole, double most) {
  constexpr std::uint64_t most_parts = 64;
  Dims tile = common;
  for (int d = 0; d < tile.rank(); ++d) {
    for (std::uint64_t parts = 1; parts <= std::min(most_parts, common[d]); ++parts) {
      const std::uint64_t part = common[d] / parts;
      const auto stored = static_cast<double>(tiles_along(whole[d], part) * part);
      if (common[d] % parts == 0 && stored <= static_cast<double>(whole[d]) * (1 + most)) {
        tile[d] = part;
        break;
      }
    }
  }
  return tile;
}

/// Of equal tiles as many as there are of `tile`.
Dims balanced(Dims tile, const Dims& whole) {
  for (int d = 0; d < tile.rank(); ++d) {
    tile[d] = tiles_along(whole[d], tiles_along(whole[d], tile[d]));
  }
  return tile;
}

}  // namespace

bool wastes(const Dims& tile, const Dims& shape) {
  double ratio = 1;
  for (int d = 0; d < shape.rank(); ++d) {
    const std::uint64_t extent = std::max<std::uint64_t>(1, shape[d]);
    ratio *= static_cast<double>(tiles_along(extent, tile[d])) * static_cast<double>(tile[d]) /
             static_cast<double>(extent);
  }
  return ratio > 1 + most_waste;
}

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
  const Dims tile = limited(common_is_large ? common : largest, element_bytes);
  if (!wastes(tile, shape)) {
    return tile;
  }
  for (const double most : {most_waste, most_waste / 2, most_waste / 4}) {
    const Dims parts = parts_of(common, whole, most);
    if (bytes_of(parts, element_bytes) >= least_bytes && !wastes(parts, shape)) {
      return limited(parts, element_bytes);
    }
  }
  // Blocks that consist of whole tiles are written four times as fast.
  return common_is_large ? tile : balanced(tile, whole);
}

void limit_rows(Dims& tile, std::uint64_t element_bytes, std::uint64_t limit_bytes) {
  if (!tile.empty()) {
    const std::uint64_t row_bytes = bytes_of(tile, element_bytes) / tile[0];
    const std::uint64_t most = std::clamp<std::uint64_t>(limit_bytes / row_bytes, 1, tile[0]);
    tile[0] = tiles_along(tile[0], tiles_along(tile[0], most));
  }
}

}  // namespace sluice::layout
