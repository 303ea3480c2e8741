// Shapes and boxes: volumes, intersections, containment, and blocks outside their shape.
#include <gtest/gtest.h>

#include "model/box.hpp"
#include "model/coverage.hpp"
#include "model/random_boxes.hpp"

namespace sluice::model {
namespace {

constexpr std::uint64_t huge = ~0ULL;

TEST(Dims, Volume) {
  EXPECT_EQ(Dims().volume(), 1U);
  EXPECT_EQ((Dims{3, 4, 5}).volume(), 60U);
  EXPECT_EQ((Dims{huge, huge, 0}).volume(), 0U);
  EXPECT_EQ((Dims{1ULL << 32, (1ULL << 32) - 1}).volume(), huge - (1ULL << 32) + 1);
  EXPECT_THROW((Dims{1ULL << 32, 1ULL << 32}).volume(), Error);
  EXPECT_THROW(checked_product(huge, 2, "size"), Error);
  EXPECT_EQ(checked_product(huge, 1, "size"), huge);
}

TEST(Dims, Text) {
  EXPECT_EQ((Dims{10, 3}).text(), "(10, 3)");
  EXPECT_EQ((Dims{7}).text(), "(7)");
  EXPECT_EQ(Dims().text(), "()");
  EXPECT_EQ((Box{{0, 0}, {10, 3}}).text(), "start (0, 0) count (10, 3)");
}

TEST(Boxes, AgreeWithBruteForce) {
  test::Random random(1);
  for (int round = 0; round < 3000; ++round) {
    const int rank = static_cast<int>(test::pick(random, 0, 4));
    const Box all = whole(test::random_shape(random, rank, 6));
    const Box a = test::random_box(random, all, true);
    const Box b = test::random_box(random, all, true);
    std::vector<Dims> common;
    for (const Dims& at : test::elements_of(a)) {
      if (test::holds(b, at)) {
        common.push_back(at);
      }
    }
    const auto found = intersect(a, b);
    ASSERT_EQ(found.has_value(), !common.empty());
    if (found) {
      ASSERT_EQ(test::elements_of(*found), common);
    }
    if (!b.empty()) {
      ASSERT_EQ(contains(a, b), common.size() == b.volume());
    }
    ASSERT_TRUE(contains(all, a));
  }
}

TEST(Boxes, EmptyOnesAreInsideWhereverTheyStart) {
  const Box outer{{2, 2}, {3, 3}};
  EXPECT_TRUE(contains(outer, {{5, 2}, {0, 3}}));
  EXPECT_TRUE(contains(outer, {{3, 3}, {0, 99}}));
  EXPECT_FALSE(contains(outer, {{6, 2}, {0, 3}}));
  EXPECT_FALSE(contains(outer, {{1, 2}, {0, 3}}));
}

TEST(Boxes, OverflowIsNoWayIn) {
  EXPECT_FALSE(contains(whole({10}), {{5}, {huge}}));
  EXPECT_FALSE(contains(whole({10}), {{huge}, {2}}));
  EXPECT_EQ(intersect({{5}, {huge}}, {{0}, {10}}), (Box{{5}, {5}}));
  EXPECT_EQ(intersect({{huge - 1}, {huge}}, {{0}, {10}}), std::nullopt);
}

TEST(Blocks, OutsideTheShapeAreRefused) {
  EXPECT_NO_THROW(check_block({10, 3}, {{0, 0}, {10, 3}}, "spins"));
  EXPECT_NO_THROW(check_block({10, 3}, {{10, 0}, {0, 3}}, "spins"));
  EXPECT_NO_THROW(check_block({}, {{}, {}}, "time"));
  const Box outside[] = {
      {{1, 0}, {10, 3}},   {{0, 0}, {11, 3}}, {{11, 0}, {0, 3}}, {{huge, 0}, {2, 3}},
      {{2, 0}, {huge, 3}}, {{0}, {10}},       {{}, {}},          {{0, 0, 0}, {1, 1, 1}}};
  for (const Box& box : outside) {
    try {
      check_block({10, 3}, box, "spins");
      FAIL() << box.text();
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_EQ(error.code(), Code::out_of_bounds);
      EXPECT_NE(text.find("spins"), std::string::npos);
      EXPECT_NE(text.find(box.text()), std::string::npos) << text;
      EXPECT_NE(text.find("(10, 3)"), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace sluice::model
