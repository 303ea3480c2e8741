// The addresses of the elements of one variable in a file: a grid of row-major tiles, each at an
// address of its own. Contiguous data is a grid of one tile.
//
// Invariants: a tile at the edge of the shape takes the space of a whole one (as HDF5's chunks do);
// addresses are those that the format library returned, never assumed: base and stride are used
// only after they were found to reproduce the whole table. One that is made of the tiles that a
// file holds takes memory for these only, however many tiles the shape has.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "layout/tiling.hpp"
#include "model/box.hpp"
#include "model/bytes.hpp"
#include "storage/storage.hpp"

namespace sluice::layout {

/// A tile that the file does not contain: its elements read as the fill value.
inline constexpr std::uint64_t absent = std::numeric_limits<std::uint64_t>::max();

struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// The elements of one tile of a grid, clipped to the shape.
model::Box tile_box(const model::Dims& shape, const Tiling& tiling, std::uint64_t tile_index);

class Placement {
 public:
  Placement() = default;
  /// `addresses`: one for each tile of the grid, row-major. A tile has the rank of `shape`.
  Placement(std::uint32_t variable, std::uint32_t element_bytes, const model::Dims& shape,
            const Tiling& tiling, std::span<const std::uint64_t> addresses);
  /// Of the tiles `numbers`, which ascend, at `addresses`; the file holds no other.
  static Placement of_tiles(std::uint32_t variable, std::uint32_t element_bytes,
                            const model::Dims& shape, const Tiling& tiling,
                            std::vector<std::uint64_t> numbers,
                            std::vector<std::uint64_t> addresses);

  std::uint32_t variable() const noexcept { return variable_; }
  std::uint32_t element_bytes() const noexcept { return element_bytes_; }
  const model::Dims& shape() const noexcept { return shape_; }
  const Tiling& tiling() const noexcept { return tiling_; }
  /// The largest length of a tile in each dimension: that of all, where tiles are equal.
  const model::Dims& tile() const noexcept { return tiling_.tile(); }
  const model::Dims& grid() const noexcept { return grid_; }
  std::uint64_t tiles() const { return shape_.volume() == 0 ? 0 : grid_.volume(); }
  /// Of the largest tile.
  std::uint64_t tile_bytes() const { return tile().volume() * element_bytes_; }
  std::uint64_t tile_bytes(std::uint64_t tile_index) const {
    return tiling_.is_regular() ? tile_bytes() : whole_tile(tile_index).volume() * element_bytes_;
  }
  std::uint64_t address(std::uint64_t tile_index) const {
    if (is_list_) {
      const std::uint64_t entry = entry_of(tile_index);
      return entry == absent ? absent : table_[entry];
    }
    return table_.empty() ? base_ + tile_index * stride_ : table_[tile_index];
  }
  /// The tiles that may be in the file are numbered in ascending order, from 0 to entries().
  std::uint64_t entries() const { return is_list_ ? numbers_.size() : tiles(); }
  std::uint64_t tile_at(std::uint64_t entry) const { return is_list_ ? numbers_[entry] : entry; }
  /// The entry of a tile; absent: it has none.
  std::uint64_t entry_of(std::uint64_t tile_index) const;
  /// The elements of tile `tile_index`, clipped to the shape.
  model::Box tile_box(std::uint64_t tile_index) const {
    return layout::tile_box(shape_, tiling_, tile_index);
  }
  /// All elements for which tile `tile_index` has space, also beyond the shape.
  model::Box whole_tile(std::uint64_t tile_index) const { return tiling_.whole(grid_, tile_index); }
  /// From the first byte to the end of the last existing tile; empty if there is none.
  Extent hull() const;
  /// Its lowest set bit is the largest power of two which divides every address.
  std::uint64_t address_bits() const;

  /// When reading a store: the objects to which the addresses belong.
  const std::vector<storage::Segment>& objects() const noexcept { return objects_; }
  /// Are the numbers in the file big-endian? Then they are swapped when they are packed.
  bool big_endian() const noexcept { return big_endian_; }
  void set_big_endian(bool is) noexcept { big_endian_ = is; }
  void set_objects(std::vector<storage::Segment> objects) { objects_ = std::move(objects); }

  void write_to(model::ByteWriter& out) const;
  static Placement read_from(model::ByteReader& in);

 private:
  std::uint32_t variable_ = 0;
  std::uint32_t element_bytes_ = 0;
  model::Dims shape_;
  Tiling tiling_;
  model::Dims grid_;
  std::uint64_t base_ = 0;
  std::uint64_t stride_ = 0;
  std::vector<std::uint64_t> table_;
  bool is_list_ = false;                ///< table_ has the tiles numbers_, in place of all
  std::vector<std::uint64_t> numbers_;  ///< ascending
  std::vector<storage::Segment> objects_;
  bool big_endian_ = false;
};

void write_segments(const std::vector<storage::Segment>& segments, model::ByteWriter& out);
std::vector<storage::Segment> read_segments(model::ByteReader& in);

/// The grid of tiles that covers `shape`.
inline model::Dims grid_of(const model::Dims& shape, const Tiling& tiling) {
  return tiling.grid(shape);
}

/// How many tiles of a grid a box overlaps; the largest number if there are more.
std::uint64_t tiles_in(const Tiling& tiling, const model::Box& box);

/// The part of a box that is in one tile.
struct Piece {
  model::Box box;
  std::uint64_t tile_index = 0;
};

/// Cuts `box` at the tiles of a shape, in row-major order of tiles: visit(piece). Does nothing for
/// an empty box.
template <class Visit>
void for_each_piece(const model::Dims& shape, const Tiling& tiling, const model::Box& box,
                    Visit&& visit);
/// The same as a list; in row-major order of tiles. Empty for an empty box.
std::vector<Piece> cut(const model::Dims& shape, const Tiling& tiling, const model::Box& box);
inline std::vector<Piece> cut(const Placement& placement, const model::Box& box) {
  return cut(placement.shape(), placement.tiling(), box);
}

/// The contiguous runs of a piece, in ascending order of file offset: calls
/// visit(file_offset, packed_offset, bytes) where packed_offset counts in the dense row-major bytes
/// of `within` (a box that contains the piece's).
template <class Visit>
void for_each_run(const Placement& placement, const Piece& piece, const model::Box& within,
                  Visit&& visit);

/// Number of runs that for_each_run will visit, without visiting them.
std::uint64_t run_count(const Placement& placement, const Piece& piece, const model::Box& within);

// -- implementation of the template ---------------------------------------------------------------

namespace detail {

/// How a piece divides into runs: `run_elements` long, repeated over the first `outer` dimensions.
struct RunShape {
  int outer = 0;
  std::uint64_t run_elements = 1;
};
/// `tile`: the lengths of the piece's tile.
RunShape run_shape(const model::Dims& tile, const model::Box& part, const model::Box& within);
/// Row-major index of `at` in an array that spans start..start+count.
std::uint64_t linear(const model::Dims& at, const model::Dims& start, const model::Dims& count);

}  // namespace detail

template <class Visit>
void for_each_piece(const model::Dims& shape, const Tiling& tiling, const model::Box& box,
                    Visit&& visit) {
  if (box.empty()) {
    return;
  }
  const int rank = box.start.rank();
  const model::Dims grid = grid_of(shape, tiling);
  model::Dims first;
  model::Dims last;
  for (int d = 0; d < rank; ++d) {
    first.push_back(tiling.number_of(d, box.start[d]));
    last.push_back(tiling.number_of(d, box.end(d) - 1));
  }
  model::Dims at = first;
  while (true) {
    std::uint64_t index = 0;
    for (int d = 0; d < rank; ++d) {
      index = index * grid[d] + at[d];
    }
    if (const auto part = model::intersect(box, tile_box(shape, tiling, index))) {
      visit(Piece{*part, index});
    }
    int d = rank - 1;
    while (d >= 0 && at[d] == last[d]) {
      at[d] = first[d];
      --d;
    }
    if (d < 0) {
      return;
    }
    ++at[d];
  }
}

template <class Visit>
void for_each_run(const Placement& placement, const Piece& piece, const model::Box& within,
                  Visit&& visit) {
  const model::Box& part = piece.box;
  if (part.empty()) {
    return;
  }
  const model::Box tile = placement.whole_tile(piece.tile_index);
  const detail::RunShape runs = detail::run_shape(tile.count, part, within);
  const std::uint64_t address = placement.address(piece.tile_index);
  const std::uint64_t element = placement.element_bytes();
  model::Dims at = part.start;
  while (true) {
    const std::uint64_t in_tile = detail::linear(at, tile.start, tile.count);
    const std::uint64_t packed = detail::linear(at, within.start, within.count);
    visit(address + in_tile * element, packed * element, runs.run_elements * element);
    int d = runs.outer - 1;
    while (d >= 0 && ++at[d] == part.end(d)) {
      at[d] = part.start[d];
      --d;
    }
    if (d < 0) {
      return;
    }
  }
}

}  // namespace sluice::layout
