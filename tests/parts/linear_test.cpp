// A box as the sequence of its elements.
#include "model/linear.hpp"

#include <gtest/gtest.h>
#include <numeric>
#include <vector>

#include "model/random_boxes.hpp"
#include "support/values.hpp"

namespace sluice {
namespace {

using model::Box;
using model::Dims;

/// Row-major numbers (in `shape`) of the elements of a box, in its row-major order.
std::vector<std::uint64_t> numbers(const Dims& shape, const Box& box) {
  std::vector<std::uint64_t> all;
  test::for_each_element(shape, box,
                         [&](std::uint64_t index, std::uint64_t) { all.push_back(index); });
  return all;
}

TEST(Linear, EveryStretchOfABoxIsItsBoxesInOrder) {
  const Dims shape{7, 6, 5};
  const Box box{{2, 1, 1}, {4, 3, 3}};
  const std::vector<std::uint64_t> whole = numbers(shape, box);
  for (std::uint64_t first = 0; first < whole.size(); ++first) {
    for (std::uint64_t count = 0; first + count <= whole.size(); ++count) {
      std::vector<std::uint64_t> got;
      const auto boxes = model::boxes_of_range(box, first, count);
      EXPECT_LE(boxes.size(), 5u);
      for (const Box& part : boxes) {
        const auto more = numbers(shape, part);
        got.insert(got.end(), more.begin(), more.end());
      }
      const auto from = whole.begin() + static_cast<std::ptrdiff_t>(first);
      ASSERT_EQ(got, std::vector<std::uint64_t>(from, from + static_cast<std::ptrdiff_t>(count)))
          << first << " + " << count;
    }
  }
}

TEST(Linear, AllOfABoxIsOneBox) {
  const Box box{{3, 0, 9}, {4, 5, 6}};
  EXPECT_EQ(model::boxes_of_range(box, 0, box.volume()), std::vector<Box>{box});
}

TEST(Linear, AScalarIsOneElement) {
  EXPECT_EQ(model::boxes_of_range({}, 0, 1), std::vector<Box>{Box{}});
  EXPECT_TRUE(model::boxes_of_range({}, 0, 0).empty());
}

TEST(Linear, HugeBoxesDoNotOverflow) {
  const Box box{{0, 0}, {1ULL << 31, 1ULL << 31}};
  const auto boxes = model::boxes_of_range(box, (1ULL << 61) + 5, 3);
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_EQ(boxes[0].start, (Dims{1ULL << 30, 5}));
}

TEST(Linear, ASourceConvertsAndSkipsGhostCells) {
  // 4 x 3 of a 6 x 5 array with a ghost cell around it.
  std::vector<float> memory(30);
  std::iota(memory.begin(), memory.end(), 0.0F);
  const model::Block block{
      0,
      {{10, 20}, {4, 3}},
      {reinterpret_cast<const std::byte*>(memory.data()), type_of<float>(), {6, 5}, {1, 1}}};
  const model::LinearSource source(block, type_of<double>(), 100);
  std::vector<double> out(5);
  source.read({{102}, {5}}, std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(out, (std::vector<double>{8, 11, 12, 13, 16}));
}

TEST(Linear, AMovedBlockNamesItsOwnPlaceInErrors) {
  const std::vector<double> memory{1, 70000};
  const model::Block block{
      0,
      {{500}, {2}},
      {reinterpret_cast<const std::byte*>(memory.data()), type_of<double>(), {2}, {0}}};
  const model::MovedSource source(block, type_of<float>(), {500});
  std::vector<float> out(2);
  source.read({{0}, {2}}, std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(out, (std::vector<float>{1, 70000}));
  const std::vector<std::int32_t> large{1, 70000};
  const model::Block narrow{
      0,
      {{500}, {2}},
      {reinterpret_cast<const std::byte*>(large.data()), type_of<std::int32_t>(), {2}, {0}}};
  const model::MovedSource failing(narrow, type_of<std::int16_t>(), {500});
  std::vector<std::int16_t> small(2);
  try {
    failing.read({{0}, {2}}, std::as_writable_bytes(std::span(small)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("(501)"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace sluice
