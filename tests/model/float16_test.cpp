// Numbers of 16 bits against the compiler's own type, and conversions from and to every other type.
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

#include "model/convert.hpp"
#include "model/fill.hpp"

namespace sluice::model {
namespace {

constexpr std::uint32_t all_bits = 1U << 16;

Float16 of_bits(std::uint32_t bits) {
  Float16 value;
  value.bits = static_cast<std::uint16_t>(bits);
  return value;
}

TEST(Float16, EveryValueIsItselfAgain) {
  for (std::uint32_t bits = 0; bits < all_bits; ++bits) {
    const float wide = static_cast<float>(of_bits(bits));
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Float16(static_cast<double>(wide)))));
      continue;
    }
    ASSERT_EQ(Float16(static_cast<double>(wide)).bits, bits);
  }
}

TEST(Float16, RoundsToTheNearestAndOfTwoToTheEven) {
  // Between any two neighbours: the middle, and what is just on either side of it.
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<double>(of_bits(bits));
    const auto high = static_cast<double>(of_bits(bits + 1));
    const double middle = (low + high) / 2;
    ASSERT_EQ(Float16(middle).bits, bits + (bits & 1));
    ASSERT_EQ(Float16(std::nextafter(middle, low)).bits, bits);
    ASSERT_EQ(Float16(std::nextafter(middle, high)).bits, bits + 1);
    ASSERT_EQ(Float16(-middle).bits, 0x8000 + bits + (bits & 1));
  }
  EXPECT_EQ(Float16(65519.999).bits, 0x7bff);
  EXPECT_EQ(Float16(65520).bits, 0x7c00);
  EXPECT_EQ(Float16(-1e300).bits, 0xfc00);
  EXPECT_EQ(Float16(std::numeric_limits<double>::infinity()).bits, 0x7c00);
  EXPECT_EQ(Float16(-0.0).bits, 0x8000);
  EXPECT_EQ(Float16(1e-300).bits, 0);
}

#ifdef __FLT16_MAX__
TEST(Float16, IsTheCompilersType) {
  EXPECT_EQ(type_of<_Float16>(), type_of(Kind::f16));
  std::mt19937_64 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const auto wide =
        std::bit_cast<double>((random() & 0x800fffffffffffff) | (0x3e8 + random() % 40) << 52);
    const auto theirs = static_cast<_Float16>(wide);
    ASSERT_EQ(Float16(wide).bits, std::bit_cast<std::uint16_t>(theirs)) << wide;
  }
}
#endif

template <class From>
std::string packed(From value, std::uint16_t& bits) {
  const ConstMemory memory{reinterpret_cast<const std::byte*>(&value), type_of<From>(), {1}, {0}};
  try {
    pack(memory, whole({1}), whole({1}), type_of(Kind::f16), false,
         std::as_writable_bytes(std::span(&bits, 1)));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Float16, EveryNumberIsConvertedAndNoneWrapsOrIsCut) {
  std::uint16_t bits = 0;
  EXPECT_EQ(packed(std::int8_t{-3}, bits), "");
  EXPECT_EQ(bits, 0xc200);
  EXPECT_EQ(packed(std::uint16_t{65504}, bits), "");
  EXPECT_EQ(bits, 0x7bff);
  EXPECT_NE(packed(std::uint16_t{65535}, bits), "");
  EXPECT_EQ(packed(std::int64_t{1} << 40, bits), "value 1099511627776 at (0) does not fit float16");
  EXPECT_EQ(packed(0.1F, bits), "");
  EXPECT_EQ(bits, 0x2e66);
  EXPECT_EQ(packed(std::numeric_limits<double>::infinity(), bits), "");
  EXPECT_EQ(packed(std::nan(""), bits), "");
  EXPECT_EQ(packed(1e5, bits), "value 1.0e+05 at (0) does not fit float16");
  EXPECT_TRUE(convertible(type_of(Kind::f16), type_of(Kind::f32)));
  EXPECT_TRUE(convertible(type_of(Kind::u8), type_of(Kind::f16)));
  EXPECT_FALSE(convertible(type_of(Kind::f16), type_of(Kind::i32)));
  EXPECT_FALSE(convertible(type_of(Kind::f16), type_of(Kind::c64)));
  const Float16 half(-2.5);
  double wide = 0;
  unpack(std::as_bytes(std::span(&half, 1)), type_of(Kind::f16), whole({1}), whole({1}),
         {reinterpret_cast<std::byte*>(&wide), type_of<double>(), {1}, {0}}, false);
  EXPECT_EQ(wide, -2.5);
}

TEST(Float16, IsAFillValue) {
  const Type half = type_of(Kind::f16);
  const auto one_and_half = fill_bytes(1.5, half);
  ASSERT_TRUE(one_and_half);
  EXPECT_EQ(one_and_half->size(), 2U);
  EXPECT_EQ(std::to_integer<int>(one_and_half->at(1)), 0x3e);
  EXPECT_FALSE(fill_bytes(1e6, half));
  EXPECT_FALSE(fill_bytes(2049, half));  // an integer that it does not have
  EXPECT_TRUE(fill_bytes(0.1, half));    // a float is rounded, as to single precision
  EXPECT_TRUE(fill_bytes(Fill(half, std::as_bytes(std::span("\x00\x3c", 2))), type_of(Kind::i8)));
}

}  // namespace
}  // namespace sluice::model
