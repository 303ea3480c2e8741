// Fill values: exact in the variable's type, or refused.
#include "model/fill.hpp"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

#include "sluice/error.hpp"

using sluice::Fill;
using sluice::Kind;
using sluice::Type;
using sluice::type_of;
using sluice::model::fill_bytes;

namespace {

template <class T>
std::optional<T> as(const Fill& fill) {
  const auto bytes = fill_bytes(fill, type_of<T>());
  if (!bytes) {
    return std::nullopt;
  }
  T value{};
  std::memcpy(&value, bytes->data(), bytes->size());
  return value;
}

std::string text(const Fill& fill, std::uint32_t length) {
  const auto bytes = fill_bytes(fill, sluice::string_type(length));
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size())
               : "refused";
}

TEST(Fill, Integers) {
  EXPECT_EQ(as<std::int64_t>(std::int64_t{-9223372036854775806}), -9223372036854775806);
  EXPECT_EQ(as<std::uint64_t>(std::uint64_t{18446744073709551614u}), 18446744073709551614u);
  EXPECT_EQ(as<std::int8_t>(-128), std::int8_t{-128});
  EXPECT_EQ(as<std::int8_t>(-129), std::nullopt);
  EXPECT_EQ(as<std::uint8_t>(-1), std::nullopt);
  EXPECT_EQ(as<std::uint64_t>(-1), std::nullopt);
  EXPECT_EQ(as<std::int64_t>(std::uint64_t{1} << 63), std::nullopt);
}

TEST(Fill, FloatingPointToInteger) {
  EXPECT_EQ(as<std::int32_t>(-7.0), -7);
  EXPECT_EQ(as<std::int32_t>(0.5), std::nullopt);
  EXPECT_EQ(as<std::int32_t>(std::nan("")), std::nullopt);
  EXPECT_EQ(as<std::int64_t>(std::ldexp(1.0, 63)), std::nullopt);
  EXPECT_EQ(as<std::int64_t>(-std::ldexp(1.0, 63)), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(as<std::uint64_t>(std::ldexp(1.0, 64)), std::nullopt);
}

TEST(Fill, FloatingPoint) {
  EXPECT_EQ(as<double>(0.1), 0.1);
  EXPECT_EQ(as<float>(0.1), 0.1f);
  EXPECT_EQ(as<float>(1e39), std::nullopt);
  EXPECT_EQ(as<float>(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(*as<float>(std::nan(""))));
  EXPECT_EQ(as<double>((std::int64_t{1} << 53) + 1), std::nullopt);
  EXPECT_EQ(as<double>(std::int64_t{1} << 53), std::ldexp(1.0, 53));
  EXPECT_EQ(as<float>(std::numeric_limits<std::uint64_t>::max()), std::nullopt);
}

TEST(Fill, KeepsTheBitsOfANaN) {
  double odd = 0;
  const std::uint64_t bits = 0x7ff8000000001234;
  std::memcpy(&odd, &bits, sizeof odd);
  const auto bytes = fill_bytes(Fill(odd), {Kind::f64, 8});
  ASSERT_TRUE(bytes);
  EXPECT_EQ(std::memcmp(bytes->data(), &bits, sizeof bits), 0);
}

TEST(Fill, Complex) {
  using Double = std::complex<double>;
  using Single = std::complex<float>;
  EXPECT_EQ(as<Double>(Double(1, 2)), Double(1, 2));
  EXPECT_EQ(as<Single>(Double(0.5, -2)), Single(0.5F, -2));
  EXPECT_EQ(as<Single>(Double(0, 1e39)), std::nullopt);
  EXPECT_EQ(as<Double>(3), Double(3, 0));
  EXPECT_EQ(as<double>(Double(1, 0)), std::nullopt);
}

TEST(Fill, BooleansAndText) {
  EXPECT_EQ(as<bool>(true), true);
  EXPECT_EQ(as<bool>(1), true);
  EXPECT_EQ(as<bool>(2), std::nullopt);
  EXPECT_EQ(as<bool>("x"), std::nullopt);
  EXPECT_EQ(as<int>(true), 1);
  EXPECT_EQ(text("abc", 3), "abc");
  EXPECT_EQ(text("abc", 5), std::string("abc\0\0", 5));
  EXPECT_EQ(text("abcd", 3), "refused");
  EXPECT_EQ(text("", 3), "");
  EXPECT_EQ(text(1, 3), "refused");
}

TEST(Fill, ZeroHasNoBytes) {
  EXPECT_TRUE(fill_bytes(Fill(), {Kind::i32, 4})->empty());
  EXPECT_TRUE(fill_bytes(0.0, {Kind::i32, 4})->empty());
  EXPECT_TRUE(fill_bytes(false, {Kind::boolean, 1})->empty());
  EXPECT_EQ(fill_bytes(-0.0, {Kind::f64, 8})->size(), 8);
}

TEST(Fill, Repeats) {
  for (const std::size_t count : {0, 1, 2, 3, 7, 1000}) {
    std::vector<std::byte> bytes(3 * count, std::byte{9});
    const std::vector<std::byte> element{std::byte{1}, std::byte{2}, std::byte{3}};
    sluice::model::fill(bytes, sluice::string_type(3), element);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      ASSERT_EQ(bytes[i], element[i % 3]);
    }
    sluice::model::fill(bytes, sluice::string_type(3), {});
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{0}), bytes.size());
  }
  std::vector<std::byte> odd(7);
  EXPECT_THROW(sluice::model::fill(odd, {Kind::i16, 2}, std::vector<std::byte>(2)), sluice::Error);
}

TEST(Fill, IsGivenInItsOwnTypeOnly) {
  EXPECT_EQ(Fill(2.5).as<double>(), 2.5);
  EXPECT_THROW(Fill(2.5).as<float>(), sluice::Error);
  EXPECT_EQ(Fill().as<float>(), 0);
}

}  // namespace
