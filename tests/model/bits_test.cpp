// Bits behave as a std::vector<bool> of their size, whatever was set and cleared.
#include "model/bits.hpp"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "model/random_boxes.hpp"

namespace sluice::model {
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

/// Several threads share words.
TEST(Bits, AreSetBySeveralAtOnce) {
  constexpr std::uint64_t size = 10'000;
  constexpr std::uint64_t step = 37;
  std::vector<std::uint64_t> alone(size / word_bits + 1);
  std::vector<std::uint64_t> shared(size / word_bits + 1);
  for (std::uint64_t at = 0; at + step <= size; at += 2 * step) {
    set_bits(alone.data(), at, step);
  }
  set_bits(alone.data(), size - 300, 300);
  set_bits_shared(shared.data(), size - 300, 300);
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&shared, thread] {
      for (std::uint64_t at = 2 * step * thread; at + step <= size; at += 3 * 2 * step) {
        set_bits_shared(shared.data(), at, step);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(alone, shared);
  set_bits(alone.data(), 5, 0);
  set_bits_shared(alone.data(), 5, 0);
  EXPECT_EQ(alone, shared);
}

}  // namespace
}  // namespace sluice::model
