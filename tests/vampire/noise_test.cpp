// The noise is the published one, is normal, and uses a correct logarithm, sine and cosine.
#include "noise.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>

namespace vampire {
namespace {

using Words = std::array<std::uint32_t, 4>;

TEST(Noise, PhiloxGivesThePublishedWords) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Noise, FunctionsAgreeWithTheMathematicsLibrary) {
  const long double pi = std::acos(-1.0L);
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    // The whole range, its ends and the borders of the eighths.
    const auto k = static_cast<std::uint32_t>(i < 1000     ? i
                                              : i < 2000   ? (1ULL << 32) - 1 - (i - 1000)
                                              : i < 18'000 ? ((i % 8) << 29) + i / 8 - 1250
                                                           : i * 2'654'435'761ULL);
    const long double u = (k + 0.5L) / 4294967296.0L;
    const auto log = static_cast<double>(std::log(u));
    ASSERT_NEAR(log_of_uniform(k), log, 4e-16 * std::max(1.0, -log)) << k;
    const auto [c, s] = cos_sin_of_turn(k);
    ASSERT_NEAR(c, static_cast<double>(std::cos(2 * pi * u)), 3e-16) << k;
    ASSERT_NEAR(s, static_cast<double>(std::sin(2 * pi * u)), 3e-16) << k;
  }
}

TEST(Noise, DeviatesHaveTheMomentsOfANormalDistribution) {
  constexpr int count = 200'000;
  std::array<double, 5> sum{};
  double product = 0;
  double tail = 0;
  for (int i = 0; i < count; ++i) {
    const Vec3 v = normal3(7, Stream::thermal, static_cast<std::uint64_t>(i % 1000),
                           static_cast<std::uint32_t>(i / 1000));
    for (int axis = 0; axis < 3; ++axis) {
      double power = 1;
      for (double& moment : sum) {
        moment += power;
        power *= v[axis];
      }
      tail += std::abs(v[axis]) > 2 ? 1 : 0;
    }
    product += v.x * v.y + v.y * v.z + v.z * v.x;
  }
  const double n = 3.0 * count;
  const double sigma = 5 / std::sqrt(n);  // five standard errors
  EXPECT_NEAR(sum[1] / n, 0, sigma);
  EXPECT_NEAR(sum[2] / n, 1, sigma * std::sqrt(2));
  EXPECT_NEAR(sum[3] / n, 0, sigma * std::sqrt(15));
  EXPECT_NEAR(sum[4] / n, 3, sigma * std::sqrt(96));
  EXPECT_NEAR(product / n, 0, sigma);
  EXPECT_NEAR(tail / n, 0.0455002639, sigma * std::sqrt(0.0455));
}

TEST(Noise, EveryPartOfTheKeyMatters) {
  const Vec3 base = normal3(1, Stream::thermal, 2, 3);
  EXPECT_EQ(base, normal3(1, Stream::thermal, 2, 3));
  EXPECT_NE(base, normal3(2, Stream::thermal, 2, 3));
  EXPECT_NE(base, normal3(1 + (1ULL << 32), Stream::thermal, 2, 3));
  EXPECT_NE(base, normal3(1, Stream::initial, 2, 3));
  EXPECT_NE(base, normal3(1, Stream::thermal, 3, 3));
  EXPECT_NE(base, normal3(1, Stream::thermal, 2 + (1ULL << 32), 3));
  EXPECT_NE(base, normal3(1, Stream::thermal, 2, 4));
}

}  // namespace
}  // namespace vampire
