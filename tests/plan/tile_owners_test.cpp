// Every tile of compressed variables has one owner, whose positions count its tiles without gaps.
#include "plan/tile_owners.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>

namespace sluice::plan {
namespace {

TEST(tile_owners, every_tile_has_one_owner_and_one_position) {
  std::mt19937 random(20260101);
  for (int round = 0; round < 300; ++round) {
    const int ranks = 1 + static_cast<int>(random() % 17);
    std::vector<std::uint64_t> tiles(1 + random() % 6);
    std::generate(tiles.begin(), tiles.end(), [&] { return random() % 40; });
    const TileOwners owners(RankList::spaced(3, 2, ranks), tiles);
    std::uint64_t most = 0;
    std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
    for (std::uint32_t owner = 0; owner < owners.owners().size(); ++owner) {
      EXPECT_EQ(owners.index_of(3 + 2 * static_cast<int>(owner)), static_cast<int>(owner));
      most = std::max(most, owners.count(owner));
      for (std::uint64_t position = 0; position < owners.count(owner); ++position) {
        const TileOwners::Tile tile = owners.tile_at(owner, position);
        const TileOwners::Place place = owners.place_of(tile.variable, tile.tile);
        EXPECT_EQ(place.owner, owner);
        EXPECT_EQ(place.position, position);
        EXPECT_TRUE(seen.emplace(tile.variable, tile.tile).second);
      }
    }
    EXPECT_EQ(seen.size(), std::accumulate(tiles.begin(), tiles.end(), std::uint64_t{0}));
    EXPECT_EQ(owners.most(), most) << "of " << ranks << " owners";
  }
}

TEST(tile_owners, two_owners_differ_by_one_tile_in_all_variables_together) {
  std::mt19937 random(20260102);
  for (int round = 0; round < 300; ++round) {
    const auto ranks = static_cast<std::uint32_t>(1 + random() % 17);
    std::vector<std::uint64_t> tiles(1 + random() % 9);
    std::generate(tiles.begin(), tiles.end(), [&] { return random() % 40; });
    const TileOwners owners(RankList::spaced(0, 1, static_cast<int>(ranks)), tiles);
    for (std::uint32_t owner = 0; owner < ranks; ++owner) {
      EXPECT_LE(owners.most() - owners.count(owner), 1U);
    }
    for (std::uint32_t v = 0; v < tiles.size(); ++v) {  // in the order of the owners
      for (std::uint64_t tile = 1; tile < tiles[v]; ++tile) {
        const std::uint32_t before = owners.place_of(v, tile - 1).owner;
        EXPECT_GE(owners.place_of(v, tile).owner, before);
      }
    }
  }
}

TEST(tile_owners, two_shares_differ_by_one_tile_of_a_variable) {
  const TileOwners owners(RankList::spaced(0, 1, 7), {23});
  for (std::uint32_t owner = 0; owner < 7; ++owner) {
    EXPECT_GE(owners.count(owner), 3U);
    EXPECT_LE(owners.count(owner), 4U);
  }
}

}  // namespace
}  // namespace sluice::plan
