// Holes between disjoint boxes, against brute force.
#include <algorithm>
#include <gtest/gtest.h>

#include "model/coverage.hpp"
#include "model/holes.hpp"
#include "model/random_boxes.hpp"

namespace sluice::model {
namespace {

bool covered(const std::vector<Box>& boxes, const Dims& at) {
  return std::any_of(boxes.begin(), boxes.end(),
                     [&](const Box& box) { return test::holds(box, at); });
}

std::optional<Dims> first_missing(const Box& region, const std::vector<Box>& boxes) {
  for (const Dims& at : test::elements_of(region)) {
    if (!covered(boxes, at)) {
      return at;
    }
  }
  return std::nullopt;
}

bool is_free(const Box& box, const std::vector<Box>& boxes) {
  return std::none_of(boxes.begin(), boxes.end(),
                      [&](const Box& other) { return intersect(box, other).has_value(); });
}

TEST(Hole, AgreesWithBruteForce) {
  test::Random random(8);
  int with_hole = 0;
  for (int round = 0; round < 3000; ++round) {
    const int rank = static_cast<int>(test::pick(random, 0, 5));
    const Box all = whole(test::random_shape(random, rank, 6));
    const Box region = test::random_box(random, all);
    std::vector<Box> boxes;
    test::cut(random, all, 5, boxes);
    std::shuffle(boxes.begin(), boxes.end(), random);
    boxes.resize(boxes.size() - std::min<std::size_t>(boxes.size(), test::pick(random, 0, 4)));

    const auto expected = first_missing(region, boxes);
    const auto hole = test::find_hole(region, boxes);
    ASSERT_EQ(hole.has_value(), expected.has_value());
    if (!hole) {
      continue;
    }
    ++with_hole;
    EXPECT_EQ(hole->start, *expected);
    EXPECT_TRUE(contains(region, *hole));
    EXPECT_TRUE(is_free(*hole, boxes));
    for (int i = 0; i < rank; ++i) {  // nor can it be longer
      Box longer = *hole;
      ++longer.count[i];
      EXPECT_FALSE(contains(region, longer) && is_free(longer, boxes));
    }
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
  EXPECT_GT(with_hole, 500);
}

TEST(Hole, IsNamedWhole) {
  const std::vector<Box> boxes{{{0, 0}, {5, 3}}, {{7, 0}, {3, 3}}};
  EXPECT_EQ(test::find_hole(whole({10, 3}), boxes), (Box{{5, 0}, {2, 3}}));
  EXPECT_EQ(test::find_hole(whole({10, 3}), {}), (Box{{0, 0}, {10, 3}}));
  EXPECT_EQ(test::find_hole(whole({0, 3}), {}), std::nullopt);
  EXPECT_EQ(test::find_hole(whole({}), {}), (Box{{}, {}}));
  EXPECT_EQ(test::find_hole(whole({}), {{{}, {}}}), std::nullopt);
}

TEST(Hole, InAHugeShape) {
  constexpr std::uint64_t side = 1ULL << 31;
  const std::vector<Box> boxes{{{0, 0}, {side, side - 1}}, {{0, side - 1}, {side - 2, 1}}};
  EXPECT_EQ(test::find_hole(whole({side, side}), boxes), (Box{{side - 2, side - 1}, {2, 1}}));
}

}  // namespace
}  // namespace sluice::model
