// The tiles that are chosen for a decomposition.
#include "layout/chunking.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "layout/placement.hpp"
#include "model/random_boxes.hpp"

namespace sluice::layout {
namespace {

using model::Box;
using model::Dims;

/// As the ranks combine them.
Dims tile_for(const Dims& shape, const std::vector<Box>& blocks, std::uint64_t element_bytes = 8) {
  Decomposition all(shape.rank());
  for (const Box& block : blocks) {
    all.add(block, shape);
  }
  return choose_tile(shape, element_bytes, all);
}

std::vector<Box> even_blocks(const Dims& shape, const Dims& parts) {
  std::vector<Box> blocks;
  Dims size;
  for (int d = 0; d < shape.rank(); ++d) {
    size.push_back(shape[d] / parts[d]);
  }
  for (const Dims& at : test::elements_of(model::whole(parts))) {
    Box block{at, size};
    for (int d = 0; d < shape.rank(); ++d) {
      block.start[d] = at[d] * size[d];
    }
    blocks.push_back(block);
  }
  return blocks;
}

TEST(Chunking, SlabsGetTheWholeStep) {
  const Dims shape = {1000, 30, 3};
  EXPECT_EQ(tile_for(shape, even_blocks(shape, {4, 1, 1})), shape);
  // Uneven ones too.
  EXPECT_EQ(tile_for(shape, {{{0, 0, 0}, {333, 30, 3}}, {{333, 0, 0}, {667, 30, 3}}}), shape);
  EXPECT_EQ(tile_for(shape, {model::whole(shape)}), shape);
  EXPECT_EQ(tile_for(shape, {}), shape);
}

TEST(Chunking, EvenBlocksGetTheBlock) {
  const Dims shape = {128, 128, 128};
  EXPECT_EQ(tile_for(shape, even_blocks(shape, {2, 2, 2})), Dims({64, 64, 64}));
  EXPECT_EQ(tile_for(shape, even_blocks(shape, {1, 4, 2})), Dims({128, 32, 64}));
  EXPECT_EQ(tile_for({1024, 4096}, even_blocks({1024, 4096}, {1, 8})), Dims({1024, 512}));
}

TEST(Chunking, UnevenBlocksWithALargeCommonPartGetThat) {
  const Dims shape = {512, 768};
  // Boundaries at 256 and at 512: blocks of one and of two tiles.
  const std::vector<Box> blocks = {{{0, 0}, {512, 256}}, {{0, 256}, {512, 512}}};
  EXPECT_EQ(tile_for(shape, blocks), Dims({512, 256}));
}

TEST(Chunking, UnevenBlocksWithoutGetTheLargest) {
  const Dims shape = {100, 101};
  const std::vector<Box> blocks = {{{0, 0}, {100, 33}}, {{0, 33}, {100, 34}}, {{0, 67}, {100, 34}}};
  EXPECT_EQ(tile_for(shape, blocks), Dims({100, 34}));
}

/// By how much the stored tiles are larger than the shape.
double ratio_of(const Dims& shape, const Dims& tile) {
  const Dims grid = grid_of(shape, tile);
  return static_cast<double>(grid.volume() * tile.volume()) / static_cast<double>(shape.volume());
}

TEST(Chunking, VeryUnevenBlocksDoNotMakeTheFileMuchLarger) {
  // 10 levels of 61 x 97 points on 2 x 2 ranks: the largest block twice would be 78 x 122.
  const Dims shape = {10, 61, 97};
  const std::vector<Box> blocks = {{{0, 0, 0}, {10, 22, 36}},
                                   {{0, 0, 36}, {10, 22, 61}},
                                   {{0, 22, 0}, {10, 39, 36}},
                                   {{0, 22, 36}, {10, 39, 61}}};
  EXPECT_EQ(tile_for(shape, blocks, 4), Dims({10, 31, 49}));
  // The same where the blocks have a large common part.
  const Dims large = {10, 610, 970};
  const std::vector<Box> parts = {{{0, 0, 0}, {10, 390, 970}}, {{0, 390, 0}, {10, 220, 970}}};
  std::vector<Box> both;
  for (const Box& part : parts) {
    both.push_back({part.start, {10, part.count[1], 610}});
    both.push_back({{0, part.start[1], 610}, {10, part.count[1], 360}});
  }
  EXPECT_LE(ratio_of(large, tile_for(large, both, 4)), 1 + most_waste);
}

TEST(Chunking, UnevenBlocksConsistOfWholeTilesWhereSmallerOnesDo) {
  const Dims shape = {1, 2100, 100};
  const std::vector<Box> blocks = {
      {{0, 0, 0}, {1, 1000, 100}}, {{0, 1000, 0}, {1, 1000, 100}}, {{0, 2000, 0}, {1, 100, 100}}};
  EXPECT_EQ(tile_for(shape, blocks), Dims({1, 250, 100}));  // 9 of them, where 3 of 1000 were
}

TEST(Chunking, TilesStayBelowTheLimit) {
  const Dims tile = tile_for({1ULL << 20, 1ULL << 14}, {});
  EXPECT_LE(tile.volume() * 8, largest_tile_bytes);
  EXPECT_GT(tile.volume() * 8, largest_tile_bytes / 2);
  EXPECT_EQ(tile[1], 1ULL << 14);  // rows stay whole
  const Dims wide = tile_for({4, 1ULL << 31}, {});
  EXPECT_LE(wide.volume() * 8, largest_tile_bytes);
  EXPECT_EQ(wide[0], 1u);
}

TEST(Chunking, ShapesWithoutElementsHaveTilesWithSome) {
  for (const Dims& shape : {Dims({0}), Dims({0, 5}), Dims({4, 0, 3}), Dims()}) {
    const Dims tile = tile_for(shape, {});
    EXPECT_EQ(tile.rank(), shape.rank());
    EXPECT_GE(tile.volume(), 1u) << shape.text();
  }
}

TEST(Chunking, OfRandomDecompositionsCoversTheShape) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Random random(seed);
    const Dims shape = test::random_shape(random, static_cast<int>(test::pick(random, 1, 5)), 40);
    std::vector<Box> blocks;
    test::cut(random, model::whole(shape), 4, blocks);
    const Dims tile = tile_for(shape, blocks);
    for (int d = 0; d < shape.rank(); ++d) {
      ASSERT_GE(tile[d], 1u);
      ASSERT_LE(tile[d], shape[d]);
    }
    std::uint64_t volume = 0;
    for (std::uint64_t i = 0; i < grid_of(shape, tile).volume(); ++i) {
      volume += tile_box(shape, tile, i).volume();
    }
    ASSERT_EQ(volume, shape.volume());
  }
}

}  // namespace
}  // namespace sluice::layout
