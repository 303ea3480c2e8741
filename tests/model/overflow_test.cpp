// The error for a value that does not fit, and its result where overflow is allowed.
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

#include "model/convert.hpp"
#include "model/random_boxes.hpp"

namespace sluice::model {
namespace {

template <class T>
std::string refusal(const std::vector<T>& values, const Dims& shape, const Type& to) {
  std::vector<std::byte> out(values.size() * to.bytes);
  const ConstMemory memory{reinterpret_cast<const std::byte*>(values.data()), type_of<T>(), shape,
                           Dims::filled(shape.rank(), 0)};
  try {
    pack(memory, whole(shape), whole(shape), to, false, out);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::overflow);
    return error.what();
  }
  return "";
}

template <class T>
std::string one(T value, Kind to) {
  return refusal<T>({value}, {1}, type_of(to));
}

TEST(Overflow, NamesTheValueAndItsPlace) {
  std::vector<double> values(12, 1.0);
  values[2 * 4 + 1] = 3e39;
  values[11] = 1e300;
  EXPECT_EQ(refusal(values, {3, 4}, type_of<float>()),
            "value 3.0e+39 at (2, 1) does not fit float32");
  EXPECT_EQ(one<int>(-7, Kind::u8), "value -7 at (0) does not fit uint8");
  EXPECT_EQ(one<std::uint64_t>(~0ULL, Kind::i64),
            "value 18446744073709551615 at (0) does not fit int64");
  EXPECT_EQ(one<std::complex<double>>({1, -2e40}, Kind::c64),
            "value (1.0, -2.0e+40) at (0) does not fit complex64");
}

TEST(Overflow, LimitsThemselvesFit) {
  EXPECT_EQ(one<int>(127, Kind::i8), "");
  EXPECT_EQ(one<int>(-128, Kind::i8), "");
  EXPECT_NE(one<int>(128, Kind::i8), "");
  EXPECT_NE(one<int>(-129, Kind::i8), "");
  EXPECT_EQ(one<long>(4294967295L, Kind::u32), "");
  EXPECT_NE(one<long>(4294967296L, Kind::u32), "");
  EXPECT_NE(one<signed char>(-1, Kind::u64), "");
  EXPECT_NE(one<unsigned>(1U << 31, Kind::i32), "");
  EXPECT_EQ(one<unsigned>(1U << 31, Kind::i64), "");
  EXPECT_EQ(one<long>(std::numeric_limits<long>::min(), Kind::f32), "");
}

TEST(Overflow, OnlyAFiniteValueCanOverflowAFloat) {
  const double largest = std::numeric_limits<float>::max();
  EXPECT_EQ(one<double>(largest, Kind::f32), "");
  EXPECT_EQ(one<double>(std::nextafter(largest, 1e300), Kind::f32), "");  // rounds to largest
  EXPECT_NE(one<double>(largest * 1.0000001, Kind::f32), "");
  EXPECT_EQ(one<double>(std::numeric_limits<double>::infinity(), Kind::f32), "");
  EXPECT_EQ(one<double>(std::nan(""), Kind::f32), "");
  EXPECT_EQ(one<double>(1e-300, Kind::f32), "");  // becomes 0: less precise, not wrong
}

TEST(Overflow, IsFoundAnywhereInALongRun) {
  test::Random random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values(test::pick(random, 1, 5000), -2.5);
    for (int k = 0; k < 3; ++k) {  // infinities before it do not hide it
      values[random() % values.size()] = std::numeric_limits<double>::infinity();
    }
    const std::size_t at = random() % values.size();
    values[at] = -1e39;
    EXPECT_EQ(refusal(values, {values.size()}, type_of<float>()),
              "value -1.0e+39 at (" + std::to_string(at) + ") does not fit float32");
    std::vector<std::int64_t> integers(values.size(), -3);
    integers[at] = 1L << 40;
    EXPECT_EQ(refusal(integers, {values.size()}, type_of<int>()),
              "value 1099511627776 at (" + std::to_string(at) + ") does not fit int32");
  }
}

std::string pack_string(const std::string& text, std::uint32_t from_bytes, std::uint32_t to_bytes,
                        bool allow_overflow) {
  std::vector<std::byte> from(from_bytes);
  std::memcpy(from.data(), text.data(), text.size());
  std::string out(to_bytes, '?');
  pack({from.data(), string_type(from_bytes), {1}, {0}}, whole({1}), whole({1}),
       string_type(to_bytes), allow_overflow, std::as_writable_bytes(std::span(out)));
  return out;
}

TEST(Overflow, StringsFitByTheirContent) {
  EXPECT_EQ(pack_string("iron", 16, 4, false), "iron");
  EXPECT_EQ(pack_string("iron", 4, 6, false), std::string("iron\0\0", 6));
  try {
    pack_string("cobalt", 16, 4, false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "value \"cobalt\" at (0) does not fit string[4]");
  }
}

TEST(Overflow, StringsAreCutAfterAWholeCharacter) {
  EXPECT_EQ(pack_string("cobalt", 16, 4, true), "coba");
  EXPECT_EQ(pack_string("groß", 16, 4, true), std::string("gro\0", 4));
  EXPECT_EQ(pack_string("a\xf0\x9f\x8c\x8a", 16, 4, true), std::string("a\0\0\0", 4));
  EXPECT_EQ(pack_string("\xf0\x9f\x8c\x8a!", 16, 4, true), "\xf0\x9f\x8c\x8a");
  EXPECT_EQ(pack_string("\x80\x80\x80\x80\x80\x80", 16, 4, true), "\x80\x80\x80\x80");
}

}  // namespace
}  // namespace sluice::model
