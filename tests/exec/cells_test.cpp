// Cells that distribute the check: they cover a shape once, and a block overlaps few of them.
#include "exec/check/cells.hpp"

#include <gtest/gtest.h>

#include "model/random_boxes.hpp"

namespace sluice::exec {
namespace {

using model::Box;
using model::Dims;

std::vector<std::uint64_t> met(const CellGrid& grid, const Box& box) {
  std::vector<std::uint64_t> cells;
  grid.for_each_met(box, [&](std::uint64_t cell) { cells.push_back(cell); });
  return cells;
}

TEST(Cells, CoverTheShapeOnceAndAreMetAsBruteForceSays) {
  test::Random random(9);
  for (int round = 0; round < 1000; ++round) {
    const int rank = static_cast<int>(test::pick(random, 0, 4));
    const Dims shape = test::random_shape(random, rank, 12);
    const std::uint64_t most = test::pick(random, 1, 20);
    const CellGrid grid(shape, test::random_box(random, model::whole(shape), true).count, most);
    ASSERT_LE(grid.cells(), most);
    std::uint64_t volume = 0;
    const Box box = test::random_box(random, model::whole(shape), true);
    std::vector<std::uint64_t> expected;
    for (std::uint64_t i = 0; i < grid.cells(); ++i) {
      volume += grid.cell(i).volume();
      for (std::uint64_t j = 0; j < i; ++j) {
        ASSERT_FALSE(intersect(grid.cell(i), grid.cell(j)).has_value());
      }
      if (intersect(grid.cell(i), box)) {
        expected.push_back(i);
      }
    }
    ASSERT_EQ(volume, shape.volume());
    ASSERT_EQ(met(grid, box), expected);
  }
}

TEST(Cells, BlocksOfARegularDecompositionMeetOne) {
  // pencils along the longest dimension: cells are pencils too, not slabs that all of them cross
  const CellGrid pencils({300, 300, 5000}, {3, 3, 5000}, 10000);
  EXPECT_EQ(pencils.cells(), 10000U);
  EXPECT_EQ(met(pencils, {{297, 3, 0}, {3, 3, 5000}}).size(), 1U);
  const CellGrid cubes({4600, 4600, 4600}, {100, 100, 100}, 46 * 46 * 46);
  EXPECT_EQ(met(cubes, {{400, 4500, 0}, {100, 100, 100}}).size(), 1U);
  // with a hundred blocks a rank, cells grow until there is one for each rank at most
  const CellGrid few({4600, 4600, 4600}, {100, 100, 100}, 1000);
  EXPECT_LE(few.cells(), 1000U);
  EXPECT_GT(few.cells(), 500U);
}

TEST(Cells, OfHugeAndOfEmptyShapes) {
  const CellGrid huge({1ULL << 62, 2}, {1, 1}, 100);
  EXPECT_LE(huge.cells(), 100U);
  EXPECT_GT(huge.cells(), 50U);
  EXPECT_EQ(CellGrid({0, 5}, {1, 1}, 100).cells(), 0U);
  EXPECT_EQ(CellGrid({}, {}, 100).cells(), 1U);
}

}  // namespace
}  // namespace sluice::exec
