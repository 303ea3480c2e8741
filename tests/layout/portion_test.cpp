// Portions: a block is cut into parts that cover it once, in order, none larger than the limit.
#include "layout/portion.hpp"

#include <gtest/gtest.h>
#include <set>

#include "model/random_boxes.hpp"

namespace sluice::layout {
namespace {

using model::Box;
using model::Dims;
using test::Random;

TEST(Portion, PartsCoverTheBoxOnceAndInOrder) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Dims shape = test::random_shape(random, static_cast<int>(test::pick(random, 0, 5)), 6);
    const Box box = test::random_box(random, model::whole(shape), true);
    const std::uint64_t element_bytes = test::pick(random, 1, 16);
    const std::uint64_t limit_bytes = test::pick(random, 1, 400);
    std::vector<Dims> elements;
    for (const Box& part : split(box, element_bytes, limit_bytes)) {
      ASSERT_TRUE(model::contains(box, part));
      ASSERT_FALSE(part.empty());
      ASSERT_TRUE(part.volume() == 1 || part.volume() * element_bytes <= limit_bytes);
      for (const Dims& at : test::elements_of(part)) {
        elements.push_back(at);
      }
    }
    // In sequence they are the box itself, in row-major order.
    ASSERT_TRUE(elements == test::elements_of(box) || (box.empty() && elements.empty()));
  }
}

TEST(Portion, PartsAreNotNeedlesslySmall) {
  const auto parts = split({{0, 0}, {1000, 1024}}, 8, 4 << 20);
  EXPECT_EQ(parts.size(), 2u);  // 512 rows of 8 KiB in 4 MiB
  EXPECT_EQ(split({{0, 0}, {4, 1 << 20}}, 8, 4 << 20).size(), 8u);
}

TEST(Portion, OfABlockLieInOneTileEach) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Dims shape = test::random_shape(random, 3, 9);
    Dims tile;
    for (const std::uint64_t extent : shape) {
      tile.push_back(test::pick(random, 1, extent));
    }
    const Box box = test::random_box(random, model::whole(shape));
    std::vector<Portion> portions;
    append_portions(7, box, shape, tile, 8, portions);
    std::uint64_t volume = 0;
    for (const Portion& portion : portions) {
      EXPECT_EQ(portion.block, 7u);
      ASSERT_TRUE(model::contains(box, portion.piece.box));
      ASSERT_TRUE(
          model::contains(tile_box(shape, tile, portion.piece.tile_index), portion.piece.box));
      volume += portion.piece.box.volume();
    }
    EXPECT_EQ(volume, box.volume());
  }
}

TEST(Portion, OfLargeBlocksKeepToTheLimit) {
  std::vector<Portion> portions;
  append_portions(0, {{0, 0}, {3000, 1000}}, {3000, 1000}, Dims{3000, 1000}, 8, portions);
  EXPECT_GT(portions.size(), 5u);
  for (const Portion& portion : portions) {
    EXPECT_LE(portion.piece.box.volume() * 8, portion_bytes);
  }
}

}  // namespace
}  // namespace sluice::layout
