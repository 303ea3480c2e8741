// The shortest nest of loops over a box that lies in two dense row-major arrays.
//
// Invariants: elements are visited in row-major order of the box; `run` elements are adjacent in
// both arrays; neighbouring loops are merged where possible (dimensions that are whole in both
// arrays, and dimensions of one element, are gone).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/dims.hpp"

namespace sluice::model {

/// One loop; the strides are in elements of each array.
struct Loop {
  std::uint64_t count = 1;
  std::uint64_t from_step = 0;
  std::uint64_t to_step = 0;
};

struct Loops {
  int depth = 0;                        ///< number of loops around the rows
  std::array<Loop, max_rank> around{};  ///< slowest first
  Loop rows;                            ///< the fastest loop, over runs
  std::uint64_t run = 1;                ///< adjacent elements in both arrays
};

/// Loops over a box of `count` elements in arrays of extents `from_shape` and `to_shape`. All three
/// have the same rank, no extent is 0, and both arrays are small enough to be in memory.
Loops make_loops(const Dims& count, const Dims& from_shape, const Dims& to_shape);

/// Index of element `at` in a dense row-major array of extents `shape`.
std::uint64_t linear_offset(const Dims& at, const Dims& shape);

/// Rows of a copy: `rows` times `run` elements, with the strides of the rows in bytes.
struct Rows {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::size_t from_step = 0;
  std::size_t to_step = 0;
  std::size_t rows = 1;
  std::size_t run = 1;         ///< elements
  std::size_t from_bytes = 0;  ///< of one element
  std::size_t to_bytes = 0;
};

/// Calls `visit(const Rows&, std::uint64_t first)` for every innermost pair of loops; `first` is
/// the index of its first element in row-major order of the box.
template <class Visit>
void for_each_rows(const Loops& loops, const std::byte* from, std::size_t from_bytes, std::byte* to,
                   std::size_t to_bytes, Visit visit) {
  Rows rows{from,
            to,
            loops.rows.from_step * from_bytes,
            loops.rows.to_step * to_bytes,
            loops.rows.count,
            loops.run,
            from_bytes,
            to_bytes};
  std::array<std::uint64_t, max_rank> at{};
  std::uint64_t first = 0;
  while (true) {
    visit(static_cast<const Rows&>(rows), first);
    first += loops.rows.count * loops.run;
    int i = loops.depth - 1;
    for (; i >= 0; --i) {
      const auto d = static_cast<std::size_t>(i);
      const Loop& loop = loops.around[d];
      rows.from += loop.from_step * from_bytes;
      rows.to += loop.to_step * to_bytes;
      if (++at[d] < loop.count) {
        break;
      }
      at[d] = 0;
      rows.from -= loop.count * loop.from_step * from_bytes;
      rows.to -= loop.count * loop.to_step * to_bytes;
    }
    if (i < 0) {
      return;
    }
  }
}

/// Copies rows of elements of the same size on both sides.
void copy_rows(const Rows& rows);

}  // namespace sluice::model
