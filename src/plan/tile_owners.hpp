// Who encodes which tile of compressed variables: every tile has one owner.
//
// Invariants: a value, the same on every rank; each variable's tiles go to the owners in contiguous
// runs of (nearly) equal length, so that ranks with blocks of rows own most of what they have;
// variables of fewer tiles than owners begin at different ones. An owner's tiles have positions 0,
// 1, ... in the order of variables and tiles: rounds of an exchange are ranges of positions.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/rank_list.hpp"

namespace sluice::plan {

class TileOwners {
 public:
  /// `owners`: ranks. `tiles`: the number of tiles of each variable.
  TileOwners(RankList owners, std::vector<std::uint64_t> tiles);

  struct Place {
    std::uint32_t owner = 0;  ///< index into owners()
    std::uint64_t position = 0;
  };
  struct Tile {
    std::uint32_t variable = 0;
    std::uint64_t tile = 0;
  };

  const RankList& owners() const noexcept { return owners_; }
  /// Index of a rank among the owners, -1 if it is not one.
  int index_of(int rank) const noexcept { return owners_.index_of(rank); }
  Place place_of(std::uint32_t variable, std::uint64_t tile) const;
  /// The number of tiles of one owner.
  std::uint64_t count(std::uint32_t owner) const;
  /// The largest number of tiles of an owner.
  std::uint64_t most() const;
  /// The tile of an owner by its position.
  Tile tile_at(std::uint32_t owner, std::uint64_t position) const;

 private:
  struct Run {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };
  Run run(std::uint32_t variable, std::uint32_t owner) const;
  std::uint64_t shift(std::uint32_t variable) const;

  RankList owners_;
  std::vector<std::uint64_t> tiles_;
  std::vector<std::uint64_t> before_;  ///< number of tiles of all variables before each
};

}  // namespace sluice::plan
