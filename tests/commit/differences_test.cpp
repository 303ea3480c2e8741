// The parts in which two ranges of bytes differ, beside a search byte by byte.
#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <utility>
#include <vector>

#include "commit/publish/journal_format.hpp"

namespace sluice::commit {
namespace {

using Bytes = std::vector<std::byte>;
using Parts = std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>>;

/// Differing bytes, joined over gaps of less than 16 bytes, and of up to `joined`.
Parts parts_byte_by_byte(const Bytes& a, const Bytes& b, std::ptrdiff_t joined) {
  const std::ptrdiff_t shortest_gap = std::max<std::ptrdiff_t>(16, joined + 1);
  Parts parts;
  for (std::ptrdiff_t at = 0; at < std::ssize(a); ++at) {
    if (a[at] == b[at]) {
      continue;
    }
    if (parts.empty() || at - parts.back().second >= shortest_gap) {
      parts.emplace_back(at, at);
    }
    parts.back().second = at + 1;
  }
  return parts;
}

Bytes random_bytes(std::size_t count, std::mt19937_64& random) {
  Bytes bytes(count);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random());
  }
  return bytes;
}

void expect_same(const Bytes& a, const Bytes& b) {
  ASSERT_EQ(differing_parts(a, b), parts_byte_by_byte(a, b, 0)) << a.size() << " bytes";
  for (const int joined : {1, 15, 16, 30, 256}) {
    ASSERT_EQ(differing_parts(a, b, static_cast<std::size_t>(joined)),
              parts_byte_by_byte(a, b, joined))
        << a.size() << " bytes, joined over " << joined;
  }
}

TEST(Differences, OfEqualBytesThereAreNone) {
  std::mt19937_64 random(1);
  for (const std::size_t size : {0, 1, 7, 8, 255, 256, 257, 5000}) {
    const Bytes bytes = random_bytes(size, random);
    EXPECT_TRUE(differing_parts(bytes, bytes).empty());
  }
}

TEST(Differences, AroundAGapOfEveryLengthAtEveryPlace) {
  constexpr std::size_t size = 120;
  const Bytes a(size);
  for (std::size_t from = 0; from <= size; ++from) {
    for (std::size_t length = 0; from + length <= size && length <= 40; ++length) {
      Bytes b(size, std::byte{1});
      std::fill_n(b.begin() + static_cast<std::ptrdiff_t>(from), length, std::byte{0});
      expect_same(a, b);
    }
  }
}

TEST(Differences, OfRandomChanges) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20'000; ++round) {
    const Bytes a = random_bytes(random() % 700, random);
    Bytes b = a;
    // From few single bytes to everything, with gaps of about the length that counts.
    const std::uint64_t one_in = 1 + random() % 30;
    for (std::byte& byte : b) {
      if (random() % one_in == 0) {
        byte = static_cast<std::byte>(random());
      }
    }
    const std::size_t same = std::min<std::size_t>(random() % 40, a.size());
    const auto at = static_cast<std::ptrdiff_t>(random() % (a.size() - same + 1));
    std::copy_n(a.begin() + at, same, b.begin() + at);
    expect_same(a, b);
  }
}

TEST(Differences, OfNumbersWithEqualHighBytes) {
  std::mt19937_64 random(3);
  Bytes a(4096);
  Bytes b(4096);
  for (std::size_t at = 0; at < a.size(); ++at) {
    if (at % 8 < 5) {
      a[at] = static_cast<std::byte>(random());
      b[at] = static_cast<std::byte>(random());
    }
  }
  expect_same(a, b);
}

}  // namespace
}  // namespace sluice::commit
