// Bits behave as a std::vector<bool> of their size, whatever was set and cleared.
#include "exec/notify/bits.hpp"

#include <gtest/gtest.h>

#include "model/random_boxes.hpp"

namespace sluice::exec {
namespace {

std::uint64_t find_in(const std::vector<bool>& bits, bool wanted, std::uint64_t at,
                      std::uint64_t end) {
  while (at < end && bits[at] != wanted) {
    ++at;
  }
  return at;
}

TEST(Bits, AreThoseThatWereSet) {
  test::Random random(5);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t size = test::pick(random, 1, 700);
    Bits bits;
    std::vector<bool> expected(size);
    for (int change = 0; change < 12; ++change) {
      if (test::pick(random, 0, 5) == 0) {
        bits.clear();
        expected.assign(size, false);
      }
      const std::uint64_t at = test::pick(random, 0, size - 1);
      const std::uint64_t length = test::pick(random, 0, std::min<std::uint64_t>(size - at, 150));
      bits.set(at, length);
      for (std::uint64_t k = at; k < at + length; ++k) {
        expected[k] = true;
      }
      for (std::uint64_t from = 0; from < size; from += 7) {
        const std::uint64_t end = test::pick(random, from, size);
        ASSERT_EQ(bits.find(true, from, end), find_in(expected, true, from, end));
        ASSERT_EQ(bits.find(false, from, end), find_in(expected, false, from, end));
      }
    }
  }
}

}  // namespace
}  // namespace sluice::exec
