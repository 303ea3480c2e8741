// A shape divided into equal cells, which are the tiles of a tiling, one owner each, to distribute
// the search for overlaps and holes.
//
// Invariants: cells cover the shape exactly once; there are at most max_cells; every rank that
// builds a grid from the same numbers gets the same one.
#pragma once

#include <cstdint>

#include "layout/placement.hpp"
#include "layout/tiling.hpp"
#include "model/box.hpp"

namespace sluice::exec {

class CellGrid {
 public:
  /// Cells of about `mean_count` elements a side, enlarged until there are at most `max_cells`. A
  /// shape without elements has no cells.
  CellGrid(const model::Dims& shape, const model::Dims& mean_count, std::uint64_t max_cells);

  std::uint64_t cells() const noexcept { return cells_; }
  /// Cell `index`, 0 .. cells() - 1, numbered in row-major order.
  model::Box cell(std::uint64_t index) const { return layout::tile_box(shape_, tiling_, index); }
  /// Calls `visit` with the number of every cell that overlaps `box`, which is inside the shape.
  template <class Visit>
  void for_each_met(const model::Box& box, Visit&& visit) const {
    layout::for_each_piece(shape_, tiling_, box,
                           [&](const layout::Piece& piece) { visit(piece.tile_index); });
  }

 private:
  model::Dims shape_;
  layout::Tiling tiling_;
  std::uint64_t cells_ = 0;
};

}  // namespace sluice::exec
