// Types, their names and the names of error codes.
#include "sluice/types.hpp"

#include <gtest/gtest.h>
#include <set>

#include "sluice/error.hpp"

namespace sluice {
namespace {

TEST(Types, OfTheCppTypes) {
  EXPECT_EQ(type_of<double>(), (Type{Kind::f64, 8}));
  EXPECT_EQ(type_of<const float>(), (Type{Kind::f32, 4}));
  EXPECT_EQ(type_of<long long>(), (Type{Kind::i64, 8}));
  EXPECT_EQ(type_of<unsigned char>(), (Type{Kind::u8, 1}));
  EXPECT_EQ(type_of<bool>(), (Type{Kind::boolean, 1}));
  EXPECT_EQ(type_of<std::complex<double>>(), (Type{Kind::c128, 16}));
}

TEST(Types, OfEveryKindHaveTheirSizeAndName) {
  const std::pair<const char*, std::uint32_t> expected[] = {
      {"int8", 1},      {"int16", 2},       {"int32", 4},  {"int64", 8},   {"uint8", 1},
      {"uint16", 2},    {"uint32", 4},      {"uint64", 8}, {"float32", 4}, {"float64", 8},
      {"complex64", 8}, {"complex128", 16}, {"bool", 1}};
  int kind = 1;
  for (const auto& [name, bytes] : expected) {
    const Type type = type_of(static_cast<Kind>(kind++));
    EXPECT_EQ(type_name(type), name);
    EXPECT_EQ(type.bytes, bytes) << name;
  }
  EXPECT_EQ(type_name(string_type(16)), "string[16]");
  EXPECT_EQ(string_type(16).bytes, 16U);
}

TEST(Types, RefuseWhatHasNoSize) {
  EXPECT_THROW(type_of(Kind::string), Error);
  EXPECT_THROW(type_of(static_cast<Kind>(0)), Error);
  EXPECT_THROW(type_of(static_cast<Kind>(200)), Error);
  EXPECT_THROW(string_type(0), Error);
}

TEST(Codes, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  int known = 0;
  for (int i = 0; i <= 60; ++i) {
    const std::string name = code_name(static_cast<Code>(i));
    if (name != "unknown") {
      ++known;
      names.insert(name);
    }
  }
  EXPECT_EQ(known, 28);
  EXPECT_EQ(static_cast<int>(names.size()), known);
  EXPECT_STREQ(code_name(Code::out_of_bounds), "out_of_bounds");
  EXPECT_STREQ(code_name(Code::internal), "internal");
}

}  // namespace
}  // namespace sluice
