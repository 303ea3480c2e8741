// Which rank owns which byte of a file that sessions write or read: tile t belongs to owner t mod
// owners, whatever the session, so that tiles which two sessions share have one owner too.
//
// Invariant: a value, the same on every rank; no message is needed to find an owner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "plan/rank_list.hpp"

namespace sluice::plan {

/// Bytes of a file.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  std::uint64_t end() const noexcept { return offset + bytes; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

class SessionTiles {
 public:
  SessionTiles() = default;
  /// `owners`: ranks, not empty. `tile_bytes` > 0.
  SessionTiles(RankList owners, std::uint64_t tile_bytes)
      : owners_(std::move(owners)), tile_bytes_(tile_bytes) {}

  const RankList& owners() const noexcept { return owners_; }
  std::uint64_t tile_bytes() const noexcept { return tile_bytes_; }
  std::uint64_t tile_of(std::uint64_t offset) const noexcept { return offset / tile_bytes_; }
  int owner_of(std::uint64_t offset) const { return owners_[tile_of(offset) % owners_.size()]; }
  bool is_owner(int rank) const { return owners_.index_of(rank) >= 0; }

  /// The part of tile `tile` that lies in `range`.
  ByteRange part(std::uint64_t tile, const ByteRange& range) const {
    const std::uint64_t first = std::max(range.offset, tile * tile_bytes_);
    const std::uint64_t room = range.end() - first;  // tile ends may lie beyond 64 bits
    return {first, std::min(room, tile_bytes_ - first % tile_bytes_)};
  }
  /// The owners of at least one byte of `range`, in the order of their first tiles in it.
  std::vector<int> owners_of(const ByteRange& range) const;
  /// The number of bytes of `range` that belong to `rank`.
  std::uint64_t share(const ByteRange& range, int rank) const;
  /// The tiles of `rank` in `range`, ascending: visit(tile) until it returns false.
  template <class Visit>
  void for_each_tile(const ByteRange& range, int rank, Visit&& visit) const;

 private:
  RankList owners_;
  std::uint64_t tile_bytes_ = 1;
};

// -- implementation -------------------------------------------------------------------------------

template <class Visit>
void SessionTiles::for_each_tile(const ByteRange& range, int rank, Visit&& visit) const {
  const int place = owners_.index_of(rank);
  if (range.bytes == 0 || place < 0) {
    return;
  }
  const auto index = static_cast<std::uint64_t>(place);
  const std::uint64_t n = owners_.size();
  const std::uint64_t first = tile_of(range.offset);
  const std::uint64_t last = tile_of(range.end() - 1);
  for (std::uint64_t tile = first + (index + n - first % n) % n; tile <= last; tile += n) {
    if (!visit(tile)) {
      return;
    }
  }
}

}  // namespace sluice::plan
