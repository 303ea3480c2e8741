// The tiles of a grid that a box overlaps: a box of tiles, numbered row-major from 0.
//
// Invariants: a value of fixed size, whatever the number of tiles; every query is arithmetic.
#pragma once

#include <cstdint>

#include "layout/placement.hpp"

namespace sluice::layout {

class TileBlock {
 public:
  /// An empty box overlaps no tile.
  TileBlock(const Placement& placement, const model::Box& box);

  /// Number of tiles.
  std::uint64_t size() const noexcept { return size_; }
  /// The index in the whole grid of tile `number`, below size().
  std::uint64_t tile(std::uint64_t number) const;
  /// The least number >= `from` whose tile is also in `part`, a block of the same grid inside this
  /// one; size() if there is none.
  std::uint64_t next(const TileBlock& part, std::uint64_t from) const;

 private:
  std::uint64_t number_of(const model::Dims& at) const;

  model::Dims grid_;
  model::Dims first_;
  model::Dims count_;
  std::uint64_t size_ = 0;
};

}  // namespace sluice::layout
