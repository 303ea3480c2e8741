// The tile map: who owns which byte, and its position in the owner's own space.
#include "plan/tile_map.hpp"

#include <gtest/gtest.h>
#include <map>
#include <set>

#include "model/random_boxes.hpp"

namespace sluice::plan {
namespace {

using layout::Extent;
using test::pick;
using test::Random;

std::vector<int> some_ranks(int count, int first, int spacing) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) {
    ranks.push_back(first + i * spacing);
  }
  return ranks;
}

TEST(tile_map, cyclic_is_the_formula_to_the_letter) {
  const int first_writer = 2;
  const int spacing = 3;
  for (const std::uint64_t writers : {1, 2, 5}) {
    const Extent space{7'000, 90'000};
    const TileMap map =
        TileMap::cyclic(some_ranks(static_cast<int>(writers), first_writer, spacing), 512, space);
    for (std::uint64_t at = space.offset; at < space.offset + space.length; at += 100) {
      const std::uint64_t tile = at / 512;
      EXPECT_EQ(map.writer_of(at), first_writer + static_cast<int>(tile % writers) * spacing);
    }
  }
}

TEST(tile_map, long_runs_are_contiguous_and_even) {
  for (const std::uint64_t writers : {1, 2, 3, 7, 40}) {
    const Extent space{1'000'001, 1 + 23 * 4096};
    const TileMap map = TileMap::runs(some_ranks(static_cast<int>(writers), 0, 1), 4096, space);
    std::map<int, std::uint64_t> tiles;
    int last = 0;
    for (std::uint64_t tile = space.offset / 4096; tile <= (space.offset + space.length - 1) / 4096;
         ++tile) {
      const int writer = map.writer_of(tile * 4096);
      EXPECT_GE(writer, last) << "a writer's tiles are not one run";
      EXPECT_EQ(writer, map.writer_of(tile * 4096 + 4095)) << "a tile with two writers";
      ++tiles[writer];
      last = writer;
    }
    std::uint64_t fewest = ~std::uint64_t{0};
    std::uint64_t most = 0;
    for (const auto& [writer, count] : tiles) {
      fewest = std::min(fewest, count);
      most = std::max(most, count);
    }
    EXPECT_LE(most - fewest, 1u);
    EXPECT_EQ(tiles.size(), std::min<std::uint64_t>(writers, 24));
  }
}

/// Owner and own place of every byte, by stretch_at, checked against all other questions.
void check_map(const TileMap& map, const Extent& space, Random& random) {
  std::map<std::uint32_t, std::set<std::uint64_t>> own;
  for (std::uint64_t at = space.offset; at < space.offset + space.length; ++at) {
    const Stretch here = map.stretch_at(at);
    ASSERT_EQ(map.writer_of(at), map.writers()[here.writer]);
    ASSERT_LT(here.own, map.own_bytes());
    ASSERT_TRUE(own[here.writer].insert(here.own).second) << "one place for two bytes";
    // The same owner and consecutive places up to the end of the stretch.
    const std::uint64_t last = std::min(here.length, space.offset + space.length - at) - 1;
    ASSERT_EQ(map.stretch_at(at + last).writer, here.writer);
    ASSERT_EQ(map.stretch_at(at + last).own, here.own + last);
    bool is_found = false;
    map.for_each_stretch(here.writer, {here.own, here.own + 1}, [&](const Stretch& stretch) {
      is_found = stretch.offset == at && stretch.length == 1 && stretch.own == here.own;
    });
    ASSERT_TRUE(is_found) << at;
    const OwnRange around = map.own_range({at, 1});
    ASSERT_TRUE(around.first <= here.own && here.own < around.last);
  }
  // Each window of the own space once, and together all of it.
  const std::uint64_t window = pick(random, 1, map.own_bytes() + 3);
  std::set<std::uint64_t> seen;
  for (std::uint32_t w = 0; w < map.writers().size(); ++w) {
    for (std::uint64_t first = 0; first < map.own_bytes(); first += window) {
      std::uint64_t next = first;
      map.for_each_stretch(w, {first, first + window}, [&](const Stretch& stretch) {
        ASSERT_EQ(stretch.own, next);
        ASSERT_EQ(stretch.writer, w);
        next += stretch.length;
        for (std::uint64_t i = 0; i < stretch.length; ++i) {
          ASSERT_TRUE(seen.insert(stretch.offset + i).second);
        }
      });
      ASSERT_LE(next, first + window);
    }
  }
  for (std::uint64_t at = space.offset; at < space.offset + space.length; ++at) {
    ASSERT_TRUE(seen.contains(at)) << at;
  }
}

TEST(tile_map, every_byte_has_one_place) {
  Random random(1);
  for (int i = 0; i < 60; ++i) {
    const Extent space{pick(random, 0, 500), pick(random, 1, 700)};
    const auto ranks = some_ranks(static_cast<int>(pick(random, 1, 9)), 0, 2);
    const std::uint64_t tile = pick(random, 1, 120);
    check_map(i % 2 == 0 ? TileMap::cyclic(ranks, tile, space) : TileMap::runs(ranks, tile, space),
              space, random);
  }
}

TEST(tile_map, next_within_by_brute_force) {
  Random random(2);
  for (int i = 0; i < 200; ++i) {
    const Extent space{pick(random, 0, 300), pick(random, 1, 400)};
    const auto ranks = some_ranks(static_cast<int>(pick(random, 1, 5)), 0, 1);
    const std::uint64_t tile = pick(random, 1, 60);
    const TileMap map =
        i % 2 == 0 ? TileMap::cyclic(ranks, tile, space) : TileMap::runs(ranks, tile, space);
    const std::uint64_t first = pick(random, 0, map.own_bytes());
    const OwnRange range{first, first + pick(random, 1, 50)};
    std::uint64_t expected = layout::absent;
    // The map covers whole tiles, so the search may end beyond the space.
    for (std::uint64_t at = (space.offset + space.length - 1) / tile * tile + tile;
         at-- > space.offset;) {
      const std::uint64_t own = map.stretch_at(at).own;
      expected = own >= range.first && own < range.last ? at : expected;
      const std::uint64_t got = map.next_within(at, range);
      if (expected != layout::absent) {
        ASSERT_EQ(got, expected) << map.text() << " from " << at;
      } else {
        ASSERT_TRUE(got == layout::absent || got >= space.offset + space.length);
      }
    }
  }
}

TEST(tile_map, outside_is_an_error) {
  const TileMap map = TileMap::runs({0, 1}, 100, {1000, 200});
  EXPECT_THROW(map.writer_of(999), Error);
  EXPECT_THROW(map.writer_of(1200), Error);
  EXPECT_EQ(map.writer_of(1099), 0);
  EXPECT_EQ(map.writer_of(1100), 1);
}

TEST(tile_map, empty_space) {
  for (const TileMap& map : {TileMap::runs({0, 3}, 100, {}), TileMap::cyclic({0, 3}, 100, {})}) {
    EXPECT_EQ(map.own_bytes(), 0u);
    EXPECT_EQ(map.next_within(0, {0, 100}), layout::absent);
  }
}

TEST(tile_map, prints_itself) {
  EXPECT_EQ(TileMap::runs({0, 4}, 4096, {0, 1}).text(),
            "tiles of 4096 bytes, contiguous, to ranks 0 4");
  EXPECT_EQ(TileMap::cyclic({1}, 10, {0, 1}).text(), "tiles of 10 bytes, cyclic, to ranks 1");
}

}  // namespace
}  // namespace sluice::plan
