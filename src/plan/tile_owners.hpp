// Who encodes which tile of compressed variables: every tile has one owner.
//
// Invariants: a value, the same on every rank; each variable's tiles go to the owners in contiguous
// runs, in the order of the owners, so that ranks with blocks of rows own most of what they have.
// Two runs of a variable differ by one tile at most. The owners of the longer runs are consecutive,
// cyclically, and begin where those of the variable before end: so two owners differ by one tile in
// all variables together, too. An owner's tiles have positions 0, 1, ... in the order of variables
// and tiles: rounds of an exchange are ranges of positions. No answer takes longer than the
// logarithm of the number of variables.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/rank_list.hpp"

namespace sluice::plan {

class TileOwners {
 public:
  /// `owners`: ranks. `tiles`: the number of tiles of each variable.
  TileOwners(RankList owners, const std::vector<std::uint64_t>& tiles);

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
  /// The tiles of a variable: `whole` for each owner, and one more for the owners [0, wrapped) and
  /// [begin, end).
  struct Shares {
    std::uint64_t whole = 0;
    std::uint64_t wrapped = 0;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t first_of(std::uint64_t owner) const;
    std::uint64_t owner_of(std::uint64_t tile) const;
  };
  /// Of the variables before one.
  struct Sum {
    std::uint64_t whole = 0;  ///< tiles that each owner has
    std::uint64_t rest = 0;   ///< tiles that are dealt to one owner after the other
  };
  std::uint32_t variables() const { return static_cast<std::uint32_t>(before_.size() - 1); }
  Shares shares_of(std::uint32_t variable) const;
  /// The tiles of an owner in the variables before one.
  std::uint64_t count_before(std::uint32_t variable, std::uint32_t owner) const;

  RankList owners_;
  std::vector<Sum> before_;  ///< by variable, and of all
};

}  // namespace sluice::plan
