// How a shape is divided into tiles: into equal ones, or, along some dimensions, at cuts of its
// own.
//
// Invariants: a value, cheap to copy whatever the number of cuts; the tiles of a tiling are the
// product of the divisions of its dimensions; a tile at the edge of the shape takes the space of a
// whole one, which in a dimension with cuts is the length between two cuts.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/box.hpp"
#include "model/bytes.hpp"

namespace sluice::layout {

class Tiling {
 public:
  /// For each dimension the lengths of its tiles, which cover the shape; empty: equal ones.
  using Lengths = std::vector<std::vector<std::uint64_t>>;

  Tiling() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): equal tiles are a tiling
  Tiling(const model::Dims& tile) : tile_(tile) {}
  /// `tile`: the length of tiles in the dimensions without cuts.
  Tiling(const model::Dims& tile, const Lengths& lengths);

  /// Of equal tiles?
  bool is_regular() const noexcept { return starts_ == nullptr; }
  /// The largest length in each dimension.
  const model::Dims& tile() const noexcept { return tile_; }
  /// The number of tiles of `shape` along each dimension.
  model::Dims grid(const model::Dims& shape) const;
  /// The number, along dimension `d`, of the tile that holds an element.
  std::uint64_t number_of(int d, std::uint64_t element) const {
    const auto* cuts = starts(d);
    return cuts == nullptr ? element / tile_[d] : number_among(*cuts, element);
  }
  /// The first element of tile `number` along dimension `d`.
  std::uint64_t start_of(int d, std::uint64_t number) const {
    const auto* cuts = starts(d);
    return cuts == nullptr ? number * tile_[d] : cuts->at(number);
  }
  /// Lengths of tile `number` along dimension `d`, beyond the shape too.
  std::uint64_t length_of(int d, std::uint64_t number) const {
    return start_of(d, number + 1) - start_of(d, number);
  }
  /// The whole tile with row-major index `index`, not clipped to the shape.
  model::Box whole(const model::Dims& grid, std::uint64_t index) const;
  /// For each dimension the lengths of its tiles; empty where they are equal.
  Lengths lengths() const;
  /// That of the other dimensions.
  Tiling without_front() const;

  void write_to(model::ByteWriter& out) const;
  static Tiling read_from(model::ByteReader& in);

  friend bool operator==(const Tiling& a, const Tiling& b);

 private:
  const std::vector<std::uint64_t>* starts(int d) const {
    const bool has = starts_ != nullptr && !(*starts_)[static_cast<std::size_t>(d)].empty();
    return has ? &(*starts_)[static_cast<std::size_t>(d)] : nullptr;
  }

  static std::uint64_t number_among(const std::vector<std::uint64_t>& cuts, std::uint64_t element);

  model::Dims tile_;
  /// By dimension: where its tiles begin, and the end of the last one; empty: equal tiles.
  std::shared_ptr<const Lengths> starts_;
};

}  // namespace sluice::layout
