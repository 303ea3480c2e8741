// Which rank owns which byte of a commit's space: tiles of equal size, each with one owner.
//
// Invariants: a value; the same on every rank for the same choice and space; every byte of the
// space has exactly one owner, and no tile has two; tiles begin at multiples of tile_bytes of the
// file. What a writer owns, taken in order of file offset, is its *own space*, counted from 0: the
// rounds of an exchange are windows of it, so that every writer has work in every round.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/placement.hpp"
#include "plan/rank_list.hpp"

namespace sluice::plan {

/// A range of the file with one owner.
struct Stretch {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t writer = 0;  ///< index into TileMap::writers()
  std::uint64_t own = 0;     ///< its offset in the own space of that writer
};

/// Half-open range of a writer's own space.
struct OwnRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

class TileMap {
 public:
  TileMap() = default;
  /// Tile t (file offset / tile_bytes) belongs to writers[t mod writers].
  static TileMap cyclic(RankList writers, std::uint64_t tile_bytes, const layout::Extent& space);
  /// Contiguous runs of tiles, one a writer, in the order of `writers`; their lengths differ by at
  /// most one tile.
  static TileMap runs(RankList writers, std::uint64_t tile_bytes, const layout::Extent& space);

  const RankList& writers() const noexcept { return writers_; }
  std::uint64_t tile_bytes() const noexcept { return tile_bytes_; }
  bool is_cyclic() const noexcept { return is_cyclic_; }
  /// Rank that owns the byte. Error internal outside the space.
  int writer_of(std::uint64_t offset) const { return writers_[stretch_at(offset).writer]; }
  /// Index of a rank among the writers, -1 if it is not one.
  int index_of(int rank) const noexcept { return writers_.index_of(rank); }
  /// From `offset` to the end of the contiguous range of its owner. Error internal outside.
  Stretch stretch_at(std::uint64_t offset) const;
  /// The largest own space of a writer, in bytes.
  std::uint64_t own_bytes() const noexcept;
  /// The first byte at or beyond `offset` whose position in the own space of its owner is in
  /// `range`; layout::absent if there is none.
  std::uint64_t next_within(std::uint64_t offset, const OwnRange& range) const;
  /// A range that contains the positions of all bytes of `extent` in the own spaces of their
  /// owners.
  OwnRange own_range(const layout::Extent& extent) const;

  /// The stretches of a part of a writer's own space: visit(Stretch), ascending.
  template <class Visit>
  void for_each_stretch(std::uint32_t writer, const OwnRange& range, Visit&& visit) const;

  /// One line, such as "tiles of 4194304 bytes, contiguous, to ranks 0 2".
  std::string text() const;

 private:
  std::uint64_t first_of(std::uint32_t writer) const noexcept;
  std::uint64_t next_in_runs(std::uint64_t offset, std::uint64_t end, const OwnRange& range) const;
  std::uint64_t next_in_rows(std::uint64_t offset, std::uint64_t end, const OwnRange& range) const;
  Stretch own_stretch(std::uint32_t writer, std::uint64_t own, std::uint64_t last) const noexcept;

  RankList writers_;
  std::uint64_t tile_bytes_ = 1;
  bool is_cyclic_ = false;
  std::uint64_t first_tile_ = 0;  ///< cyclic: that of the first row, a multiple of writers
  std::uint64_t tiles_ = 0;
};

template <class Visit>
void TileMap::for_each_stretch(std::uint32_t writer, const OwnRange& range, Visit&& visit) const {
  for (std::uint64_t own = range.first; own < range.last;) {
    const Stretch stretch = own_stretch(writer, own, range.last);
    if (stretch.length == 0) {
      return;
    }
    visit(stretch);
    own += stretch.length;
  }
}

}  // namespace sluice::plan
