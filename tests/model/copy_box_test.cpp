// Copies of boxes between arrays, and reversal of bytes.
#include <cstring>
#include <gtest/gtest.h>

#include "model/convert.hpp"
#include "model/loops.hpp"
#include "model/random_boxes.hpp"

namespace sluice::model {
namespace {

std::vector<std::byte> random_bytes(test::Random& random, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (auto& byte : bytes) {
    byte = static_cast<std::byte>(random());
  }
  return bytes;
}

TEST(CopyBox, AgreesWithBruteForce) {
  test::Random random(2);
  for (std::size_t round = 0; round < 6000; ++round) {
    const int rank = static_cast<int>(test::pick(random, 0, 5));
    const std::size_t element = 1 + round % 40;
    const Box part = test::random_box(random, whole(test::random_shape(random, rank, 4)));
    Box extents[2] = {part, part};
    for (Box& box : extents) {
      for (int i = 0; i < rank; ++i) {
        const std::uint64_t before = test::pick(random, 0, part.start[i]);
        box.start[i] -= before;
        box.count[i] += before + test::pick(random, 0, 2);
      }
    }
    const auto from = random_bytes(random, extents[0].volume() * element);
    auto to = random_bytes(random, extents[1].volume() * element);
    auto expected = to;
    for (const Dims& at : test::elements_of(part)) {
      std::memcpy(expected.data() + test::place_of(at, extents[1]) * element,
                  from.data() + test::place_of(at, extents[0]) * element, element);
    }
    copy_box(from.data(), extents[0], to.data(), extents[1], part, element);
    ASSERT_EQ(to, expected) << part.text() << " of " << extents[0].text() << " in "
                            << extents[1].text() << " element " << element;
  }
}

TEST(CopyBox, RowsOfEveryLength) {
  test::Random random(3);
  for (std::uint64_t length = 1; length <= 300; ++length) {
    const Box from_box = whole({5, length + 3});
    const Box to_box = whole({5, length + 1});
    const Box part{{0, 1}, {5, length}};
    const auto from = random_bytes(random, from_box.volume());
    std::vector<std::byte> to(to_box.volume());
    std::vector<std::byte> expected(to_box.volume());
    for (std::uint64_t row = 0; row < 5; ++row) {
      std::memcpy(expected.data() + row * (length + 1) + 1, from.data() + row * (length + 3) + 1,
                  length);
    }
    copy_box(from.data(), from_box, to.data(), to_box, part, 1);
    ASSERT_EQ(to, expected) << length;
  }
}

TEST(CopyBox, RefusesAPartOutside) {
  std::byte bytes[64] = {};
  EXPECT_THROW(copy_box(bytes, whole({4}), bytes + 32, whole({8}), {{2}, {4}}, 1), Error);
  EXPECT_THROW(copy_box(bytes, whole({8}), bytes + 32, whole({4}), {{2}, {4}}, 1), Error);
}

TEST(Loops, WholeDimensionsBecomeOne) {
  const Loops all = make_loops({4, 5, 6}, {4, 5, 6}, {4, 5, 6});
  EXPECT_EQ(all.run, 120U);
  EXPECT_EQ(all.rows.count, 1U);
  EXPECT_EQ(all.depth, 0);

  const Loops planes = make_loops({4, 5, 6}, {8, 7, 6}, {4, 5, 6});
  EXPECT_EQ(planes.run, 30U);
  EXPECT_EQ(planes.rows.count, 4U);
  EXPECT_EQ(planes.depth, 0);

  const Loops ghosted = make_loops({4, 5, 6}, {6, 7, 8}, {4, 5, 6});
  EXPECT_EQ(ghosted.run, 6U);
  EXPECT_EQ(ghosted.rows.count, 5U);
  EXPECT_EQ(ghosted.depth, 1);

  const Loops column = make_loops({9, 1}, {9, 3}, {9, 1});
  EXPECT_EQ(column.run, 1U);
  EXPECT_EQ(column.rows.count, 9U);
  EXPECT_EQ(column.rows.from_step, 3U);
}

TEST(SwapBytes, ReversesEachNumber) {
  const auto swapped = [](std::vector<std::uint8_t> bytes, const Type& type) {
    swap_bytes(std::as_writable_bytes(std::span(bytes)), type);
    return bytes;
  };
  using Bytes = std::vector<std::uint8_t>;
  EXPECT_EQ(swapped({1, 2, 3, 4}, type_of<short>()), (Bytes{2, 1, 4, 3}));
  EXPECT_EQ(swapped({1, 2, 3, 4}, type_of<float>()), (Bytes{4, 3, 2, 1}));
  EXPECT_EQ(swapped({1, 2, 3, 4, 5, 6, 7, 8}, type_of<double>()), (Bytes{8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(swapped({1, 2, 3, 4, 5, 6, 7, 8}, type_of<std::complex<float>>()),
            (Bytes{4, 3, 2, 1, 8, 7, 6, 5}));
  EXPECT_EQ(swapped({1, 2, 3}, type_of<bool>()), (Bytes{1, 2, 3}));
  EXPECT_EQ(swapped({1, 2, 3, 4}, string_type(4)), (Bytes{1, 2, 3, 4}));
  EXPECT_THROW(swapped({1, 2, 3}, type_of<short>()), Error);
}

}  // namespace
}  // namespace sluice::model
