// The unit of work of a transfer: a part of one block that is in one tile and fits the staging.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "layout/placement.hpp"

namespace sluice::layout {

/// Largest packed size of a portion, which is also the most that one checksum covers.
inline constexpr std::uint64_t portion_bytes = 4ULL << 20;
/// Words of the checksum record of a box with this many dimensions (exec/checksum_record).
inline constexpr std::uint64_t record_words(int dimensions) {
  return 3 + 2 * static_cast<std::uint64_t>(dimensions);
}

struct Portion {
  std::uint32_t block = 0;  ///< index into the rank's list of blocks
  Piece piece;
};

/// Splits a box along its slowest dimensions into boxes of at most `limit_bytes` (one element may
/// be larger), in row-major order.
void for_each_part(const model::Box& box, std::uint64_t element_bytes, std::uint64_t limit_bytes,
                   const std::function<void(const model::Box&)>& visit);
/// The same as a list; only if the box is known to have a reasonable size.
std::vector<model::Box> split(const model::Box& box, std::uint64_t element_bytes,
                              std::uint64_t limit_bytes);

/// Cuts block number `block` with extent `box` at the tiles of a shape and at portion_bytes. Needs
/// no addresses, so every rank can do it before the planner has answered.
void append_portions(std::uint32_t block, const model::Box& box, const model::Dims& shape,
                     const Tiling& tiling, std::uint32_t element_bytes,
                     std::vector<Portion>& portions);

}  // namespace sluice::layout
