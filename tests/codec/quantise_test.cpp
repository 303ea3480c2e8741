// Quantisation: every rounded value is within its bound of the value that was given, and what has
// no digits, or is the fill value, stays bit for bit.
#include "codec/quantise.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include "codec/filter.hpp"
#include "sluice/error.hpp"

namespace sluice::codec {
namespace {

template <class Number>
using BitsOf = std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>;

template <class Number>
std::vector<std::byte> bytes_of(Number value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <class Number>
std::vector<Number> rounded(const std::string& option, std::vector<Number> values,
                            std::span<const std::byte> fill = {}) {
  const auto rounding = parse_compression(option + "+deflate").rounding;
  rounding->apply(sizeof(Number), fill, std::as_writable_bytes(std::span(values)));
  return values;
}

/// Any bits at all, and values of a few magnitudes.
template <class Number>
std::vector<Number> draw(std::mt19937_64& generator, std::size_t count) {
  std::vector<Number> values;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = static_cast<BitsOf<Number>>(generator());
    const double nice = std::ldexp(static_cast<double>(generator() % 2000001) - 1e6,
                                   static_cast<int>(generator() % 40) - 30);
    values.push_back(i % 2 == 0 ? std::bit_cast<Number>(bits) : static_cast<Number>(nice));
  }
  return values;
}

/// x and y, and how far apart they may be.
template <class Number, class Bound>
void check_bound(const std::string& option, const std::vector<Number>& values, Bound&& bound) {
  const std::vector<Number> after = rounded(option, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Number x = values[i];
    if (!std::isfinite(x)) {
      EXPECT_EQ(std::bit_cast<BitsOf<Number>>(x), std::bit_cast<BitsOf<Number>>(after[i]));
      continue;
    }
    ASSERT_TRUE(std::isfinite(after[i])) << option << " of " << x;
    EXPECT_EQ(std::signbit(x), std::signbit(after[i])) << option << " of " << x;
    const long double error = std::abs(static_cast<long double>(x) - after[i]);
    EXPECT_LE(error, bound(std::abs(static_cast<long double>(x)))) << option << " of " << x;
  }
}

template <class Number>
void check_round(std::mt19937_64& generator) {
  const int most = std::numeric_limits<Number>::digits - 1;
  const long double normal = std::numeric_limits<Number>::min();
  for (int kept = 1; kept <= most; ++kept) {
    const std::string option = "round:" + std::to_string(kept);
    const auto values = draw<Number>(generator, 4000);
    check_bound(option, values,
                [&](long double x) { return std::ldexp(std::max(x, normal), -(kept + 1)); });
    const auto once = rounded(option, values);
    const auto twice = rounded(option, once);
    EXPECT_EQ(0, std::memcmp(once.data(), twice.data(), once.size() * sizeof(Number))) << option;
  }
}

TEST(Quantise, RoundIsWithinHalfOfTheLastBit) {
  std::mt19937_64 generator(1);
  check_round<float>(generator);
  check_round<double>(generator);
}

template <class Number>
void check_digits(std::mt19937_64& generator) {
  const int most = sizeof(Number) == 4 ? 6 : 15;
  const long double normal = std::numeric_limits<Number>::min();
  for (int kept = 1; kept <= most; ++kept) {
    check_bound(
        "digits:" + std::to_string(kept), draw<Number>(generator, 20000), [&](long double x) {
          if (x < normal) {
            return normal * std::pow(10.0L, 1 - kept);
          }
          // Half a unit of the last digit that is kept; a value within a few bits of a
          // power of ten may count as one of the next.
          return 0.5L * std::pow(10.0L, std::floor(std::log10(x * (1 + 4e-15L))) + 1 - kept) *
                 (1 + 1e-12L);
        });
  }
}

TEST(Quantise, DigitsAreWithinHalfOfTheLastDigit) {
  std::mt19937_64 generator(2);
  check_digits<float>(generator);
  check_digits<double>(generator);
}

TEST(Quantise, FillValuesStay) {
  const float fill = 1.2345678F;
  EXPECT_EQ(rounded<float>("round:3", {fill, 7.7777777F}, bytes_of(fill)),
            (std::vector<float>{fill, 8.0F}));
  const double netcdf = 9.9692099683868690e+36;
  EXPECT_EQ(rounded<double>("digits:2", {netcdf, 123.456}), (std::vector<double>{netcdf, 120.0}));
  EXPECT_EQ(rounded<double>("round:2", {netcdf}), (std::vector<double>{netcdf}));
  EXPECT_NE(rounded<double>("round:2", {netcdf}, bytes_of(-999.0))[0], netcdf);
}

TEST(Quantise, WhatWouldBeInfiniteStays) {
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(rounded<float>("round:4", {largest})[0], largest);
  EXPECT_EQ(rounded<float>("digits:1", {-largest})[0], -largest);
}

TEST(Quantise, OptionsSayWhatIsWrong) {
  EXPECT_EQ(parse_compression("round:10+zstd:3+noshuffle").compressor, "zstd:3+noshuffle");
  EXPECT_EQ(parse_compression("round:10+zstd:3").rounding->text(), "round:10");
  EXPECT_FALSE(parse_compression("deflate:6").rounding);
  EXPECT_FALSE(parse_compression("").rounding);
  for (const char* option :
       {"round", "round+zstd", "round:10", "round:0+zstd", "round:53+zstd", "digits:16+zstd",
        "digits:x+zstd", "digits:3+none", "round:3+", "digits:-1+zstd", "round:3 +zstd"}) {
    EXPECT_THROW(parse_compression(option), Error) << option;
  }
  EXPECT_THROW(parse_pipeline("digits:3+digits:3+deflate", 8), Error);
  EXPECT_THROW(parse_pipeline("rounds:3+deflate", 8), Error);
}

}  // namespace
}  // namespace sluice::codec
