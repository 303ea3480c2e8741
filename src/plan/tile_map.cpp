#include "plan/tile_map.hpp"

#include <algorithm>

#include "model/round_up.hpp"

namespace sluice::plan {

namespace {

using layout::Extent;

std::uint64_t tiles_until(const Extent& space, std::uint64_t tile_bytes) {
  return space.length == 0 ? 0 : (space.offset + space.length - 1) / tile_bytes + 1;
}

}  // namespace

TileMap TileMap::cyclic(RankList writers, std::uint64_t tile_bytes, const Extent& space) {
  TileMap map;
  map.writers_ = std::move(writers);
  map.tile_bytes_ = tile_bytes;
  map.is_cyclic_ = true;
  const std::uint64_t row = map.writers_.size();
  map.first_tile_ = space.offset / tile_bytes / row * row;
  const std::uint64_t last = tiles_until(space, tile_bytes);
  map.tiles_ = last == 0 ? 0 : model::round_up(last - map.first_tile_, row);
  return map;
}

TileMap TileMap::runs(RankList writers, std::uint64_t tile_bytes, const Extent& space) {
  TileMap map;
  map.writers_ = std::move(writers);
  map.tile_bytes_ = tile_bytes;
  map.first_tile_ = space.offset / tile_bytes;
  const std::uint64_t last = tiles_until(space, tile_bytes);
  map.tiles_ = last == 0 ? 0 : last - map.first_tile_;
  return map;
}

std::uint64_t TileMap::first_of(std::uint32_t writer) const noexcept {
  const std::uint64_t n = writers_.size();
  return first_tile_ + tiles_ / n * writer + tiles_ % n * writer / n;
}

Stretch TileMap::stretch_at(std::uint64_t offset) const {
  const std::uint64_t tile = offset / tile_bytes_;
  if (tile < first_tile_ || tile >= first_tile_ + tiles_) {
    throw Error(Code::internal, "offset " + std::to_string(offset) + " lies outside the tiles");
  }
  Stretch stretch;
  stretch.offset = offset;
  const std::uint64_t n = writers_.size();
  if (is_cyclic_) {
    stretch.writer = static_cast<std::uint32_t>(tile % n);
    stretch.own = (tile - first_tile_) / n * tile_bytes_ + offset % tile_bytes_;
    const std::uint64_t end = n == 1 ? first_tile_ + tiles_ : tile + 1;
    stretch.length = end * tile_bytes_ - offset;
    return stretch;
  }
  // The largest writer with tiles * writer / n <= tile - first_tile_.
  stretch.writer = static_cast<std::uint32_t>(((tile - first_tile_ + 1) * n - 1) / tiles_);
  stretch.own = offset - first_of(stretch.writer) * tile_bytes_;
  stretch.length = first_of(stretch.writer + 1) * tile_bytes_ - offset;
  return stretch;
}

Stretch TileMap::own_stretch(std::uint32_t writer, std::uint64_t own,
                             std::uint64_t last) const noexcept {
  Stretch stretch;
  stretch.writer = writer;
  stretch.own = own;
  const std::uint64_t n = writers_.size();
  if (is_cyclic_ && n > 1) {
    const std::uint64_t row = own / tile_bytes_;
    if (row >= tiles_ / n) {
      return stretch;
    }
    stretch.offset = (first_tile_ + row * n + writer) * tile_bytes_ + own % tile_bytes_;
    stretch.length = std::min(last - own, tile_bytes_ - own % tile_bytes_);
    return stretch;
  }
  const std::uint64_t first = is_cyclic_ ? first_tile_ : first_of(writer);
  const std::uint64_t end = is_cyclic_ ? first_tile_ + tiles_ : first_of(writer + 1);
  stretch.offset = first * tile_bytes_ + own;
  stretch.length = stretch.offset >= end * tile_bytes_
                       ? 0
                       : std::min(last - own, end * tile_bytes_ - stretch.offset);
  return stretch;
}

std::uint64_t TileMap::own_bytes() const noexcept {
  const std::uint64_t n = writers_.size();
  return n == 0 ? 0 : (tiles_ + n - 1) / n * tile_bytes_;
}

std::uint64_t TileMap::next_within(std::uint64_t offset, const OwnRange& range) const {
  const std::uint64_t end = (first_tile_ + tiles_) * tile_bytes_;
  offset = std::max(offset, first_tile_ * tile_bytes_);
  return is_cyclic_ && writers_.size() > 1 ? next_in_rows(offset, end, range)
                                           : next_in_runs(offset, end, range);
}

std::uint64_t TileMap::next_in_runs(std::uint64_t offset, std::uint64_t end,
                                    const OwnRange& range) const {
  while (offset < end) {
    const Stretch here = stretch_at(offset);
    if (here.own >= range.last) {
      offset += here.length;
    } else if (here.own < range.first) {
      offset += std::min(here.length, range.first - here.own);
    } else {
      return offset;
    }
  }
  return layout::absent;
}

std::uint64_t TileMap::next_in_rows(std::uint64_t offset, std::uint64_t end,
                                    const OwnRange& range) const {
  // In every tile of a row the same bytes are inside the range.
  while (offset < end) {
    const std::uint64_t tile = offset / tile_bytes_;
    const std::uint64_t row = (tile - first_tile_) / writers_.size();
    const std::uint64_t own = row * tile_bytes_ + offset % tile_bytes_;
    const std::uint64_t row_end = (row + 1) * tile_bytes_;
    if (own - offset % tile_bytes_ >= range.last) {
      return layout::absent;
    }
    if (row_end <= range.first) {
      const std::uint64_t first_row = range.first / tile_bytes_;
      offset = (first_tile_ + first_row * writers_.size()) * tile_bytes_;
    } else if (own < range.first) {
      offset += range.first - own;
    } else if (own < range.last) {
      return offset;
    } else {
      offset = (tile + 1) * tile_bytes_;
    }
  }
  return layout::absent;
}

OwnRange TileMap::own_range(const layout::Extent& extent) const {
  if (extent.length == 0) {
    return {};
  }
  const Stretch first = stretch_at(extent.offset);
  const Stretch last = stretch_at(extent.offset + extent.length - 1);
  if (is_cyclic_ && writers_.size() > 1) {
    return {first.own / tile_bytes_ * tile_bytes_, (last.own / tile_bytes_ + 1) * tile_bytes_};
  }
  return first.writer == last.writer ? OwnRange{first.own, last.own + 1} : OwnRange{0, own_bytes()};
}

std::string TileMap::text() const {
  std::string text = "tiles of " + std::to_string(tile_bytes_) + " bytes, " +
                     (is_cyclic_ ? "cyclic" : "contiguous") + ", to ranks";
  constexpr std::size_t shown = 16;
  for (std::size_t i = 0; i < std::min(shown, writers_.size()); ++i) {
    text += " " + std::to_string(writers_[i]);
  }
  return writers_.size() > shown ? text + " ... (" + std::to_string(writers_.size()) + ")" : text;
}

}  // namespace sluice::plan
