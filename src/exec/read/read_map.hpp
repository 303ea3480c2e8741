// Which rank reads which range of a file.
//
// Invariant: ranges never split a record.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layout/placement.hpp"

namespace sluice::exec {

/// A half-open range of the file.
struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// Which rank reads what: reader i reads the file range [bounds[i], bounds[i + 1]).
struct ReadMap {
  std::vector<int> readers;  ///< ranks, ascending
  std::vector<std::uint64_t> bounds;
  std::uint64_t window_bytes = 0;

  std::uint64_t rounds() const;
};

/// A box whose bytes have a known XXH3. It is inside one tile.
struct CheckedPiece {
  layout::Piece piece;
  std::uint64_t checksum = 0;
};

/// Divides `space` evenly among the readers, without splitting any of `records`. Pure.
ReadMap read_map(const layout::Placement& placement, const layout::Extent& space,
                 std::span<const CheckedPiece> records, std::vector<int> readers,
                 std::uint64_t window_bytes);

/// The range that reader number `reader` reads in a round.
Range window_of(const ReadMap& map, std::size_t reader, std::uint64_t round);

}  // namespace sluice::exec
