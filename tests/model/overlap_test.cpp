// Overlaps of boxes: the first pair, against brute force, and quickly for many boxes.
#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>

#include "model/box_tree.hpp"
#include "model/coverage.hpp"
#include "model/random_boxes.hpp"

namespace sluice::model {
namespace {

std::optional<Overlap> brute_force(std::vector<OwnedBox> boxes) {
  std::sort(boxes.begin(), boxes.end(), comes_before);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (std::size_t j = i + 1; j < boxes.size() && boxes[j].variable == boxes[i].variable; ++j) {
      if (const auto common = intersect(boxes[i].box, boxes[j].box)) {
        return Overlap{boxes[i], boxes[j], *common};
      }
    }
  }
  return std::nullopt;
}

void expect_same(const std::optional<Overlap>& found, const std::optional<Overlap>& expected) {
  ASSERT_EQ(found.has_value(), expected.has_value());
  if (expected) {
    EXPECT_EQ(found->first.box, expected->first.box);
    EXPECT_EQ(found->first.rank, expected->first.rank);
    EXPECT_EQ(found->first.variable, expected->first.variable);
    EXPECT_EQ(found->second.box, expected->second.box);
    EXPECT_EQ(found->second.rank, expected->second.rank);
    EXPECT_EQ(found->common, expected->common);
  }
}

TEST(Overlap, TilesCoverOnceAndWhole) {
  const Box region{{2, 0}, {4, 6}};
  const Box upper{{2, 0}, {2, 6}};
  const Box lower{{4, 0}, {2, 6}};
  EXPECT_TRUE(tiles(region, {region}));
  EXPECT_TRUE(tiles(region, {lower, upper}));
  EXPECT_FALSE(tiles(region, {}));
  EXPECT_FALSE(tiles(region, {upper}));
  EXPECT_FALSE(tiles(region, {upper, upper}));  // as many elements as the region has
  EXPECT_FALSE(tiles(region, {upper, lower, {{3, 3}, {1, 1}}}));
  EXPECT_FALSE(tiles(region, {upper, {{3, 0}, {2, 6}}}));
  EXPECT_TRUE(tiles({}, {{}}));  // a scalar
  EXPECT_FALSE(tiles({}, {{}, {}}));
}

TEST(Overlap, RandomBoxesAgreeWithBruteForce) {
  test::Random random(6);
  int with_overlap = 0;
  for (int round = 0; round < 2000; ++round) {
    const int rank = static_cast<int>(test::pick(random, 0, 5));
    const Box all = whole(test::random_shape(random, rank, 9));
    std::vector<OwnedBox> boxes;
    const std::uint64_t count = test::pick(random, 0, 12);
    for (std::uint64_t i = 0; i < count; ++i) {
      boxes.push_back({test::random_box(random, all, true), static_cast<int>(random() % 4),
                       static_cast<std::uint32_t>(random() % 3)});
    }
    const auto expected = brute_force(boxes);
    with_overlap += expected ? 1 : 0;
    expect_same(find_overlap(boxes), expected);
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
  EXPECT_GT(with_overlap, 200);
  EXPECT_LT(with_overlap, 1900);
}

TEST(Overlap, AllThatABoxMeetsAreFound) {
  test::Random random(8);
  for (int round = 0; round < 500; ++round) {
    const int rank = static_cast<int>(test::pick(random, 0, 4));
    const Box all = whole(test::random_shape(random, rank, 12));
    std::vector<OwnedBox> boxes;
    for (std::uint64_t i = test::pick(random, 0, 60); i > 0; --i) {
      boxes.push_back({test::random_box(random, all)});
    }
    const BoxTree tree(boxes);
    for (int i = 0; i < 10; ++i) {
      const Box wanted = test::random_box(random, all);
      std::vector<std::size_t> expected;
      for (std::size_t k = 0; k < boxes.size(); ++k) {
        if (intersect(boxes[k].box, wanted)) {
          expected.push_back(k);
        }
      }
      ASSERT_EQ(tree.overlapping(wanted), expected) << "round " << round;
      ASSERT_EQ(tree.meets(wanted), !expected.empty()) << "round " << round;
    }
  }
}

TEST(Overlap, APlantedOneIsFoundWhateverTheOrder) {
  test::Random random(7);
  for (int round = 0; round < 500; ++round) {
    const int rank = static_cast<int>(test::pick(random, 1, 5));
    const Box all = whole(test::random_shape(random, rank, 20));
    std::vector<Box> pieces;
    test::cut(random, all, 7, pieces);
    std::vector<OwnedBox> boxes;
    for (const Box& piece : pieces) {
      boxes.push_back({piece, static_cast<int>(boxes.size()), 0});
    }
    ASSERT_FALSE(find_overlap(boxes).has_value());
    boxes.push_back({test::random_box(random, all), static_cast<int>(boxes.size()), 0});
    const auto expected = brute_force(boxes);
    ASSERT_TRUE(expected.has_value());
    std::shuffle(boxes.begin(), boxes.end(), random);
    expect_same(find_overlap(boxes), expected);
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

/// A grid of `parts` boxes of `extent` each.
std::vector<OwnedBox> grid(const Dims& parts, const Dims& extent) {
  std::vector<OwnedBox> boxes;
  for (const Dims& at : test::elements_of(whole(parts))) {
    Box box{at, extent};
    for (int i = 0; i < at.rank(); ++i) {
      box.start[i] *= extent[i];
    }
    boxes.push_back({box, static_cast<int>(boxes.size()), 0});
  }
  return boxes;
}

double seconds_of_search(const std::vector<OwnedBox>& boxes, bool expected) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(find_overlap(boxes).has_value(), expected);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Overlap, AHundredThousandBoxesAreQuick) {
  // 0.04-0.06 s each when optimised; comparing all pairs would take a minute. The limit leaves
  // room for a busy machine and the sanitizers.
  constexpr double limit_s = 10;
  const std::pair<Dims, Dims> decompositions[] = {
      {{316, 316, 1}, {3, 3, 1000}},     {{316, 1, 316}, {3, 1000, 3}},
      {{1, 316, 316}, {1000, 3, 3}},     {{100000, 1, 1}, {1, 1000, 1000}},
      {{1, 1, 100000}, {1000, 1000, 1}}, {{46, 46, 46}, {20, 20, 20}}};
  for (const auto& [parts, extent] : decompositions) {
    auto boxes = grid(parts, extent);
    EXPECT_LT(seconds_of_search(boxes, false), limit_s) << parts.text();
    boxes.push_back({{{0, 0, 0}, {1, 1, 1}}, 7, 0});
    EXPECT_LT(seconds_of_search(boxes, true), limit_s) << parts.text();
  }
  const std::vector<OwnedBox> same(100000, {{{0, 0, 0}, {3, 3, 3}}, 0, 0});
  EXPECT_LT(seconds_of_search(same, true), limit_s);
}

}  // namespace
}  // namespace sluice::model
