// Types, their names and the names of error codes.
#include "sluice/types.hpp"

#include <gtest/gtest.h>
#include <set>

#include "model/type_names.hpp"
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

TEST(Types, AreFoundByTheirNames) {
  for (int kind = static_cast<int>(Kind::i8); kind <= static_cast<int>(Kind::f16); ++kind) {
    if (static_cast<Kind>(kind) != Kind::string) {
      const Type type = type_of(static_cast<Kind>(kind));
      EXPECT_EQ(model::type_named(type_name(type)), type) << type_name(type);
    }
  }
  for (const char* name : {"", "int", "float80", "string[8]", "FLOAT64", "float64 "}) {
    EXPECT_EQ(model::type_named(name), std::nullopt) << name;
  }
}

TEST(Types, HaveTheStringsOfNumpy) {
  const std::pair<const char*, Type> expected[] = {
      {"|i1", type_of(Kind::i8)},    {"<i2", type_of(Kind::i16)},     {"<i4", type_of(Kind::i32)},
      {"<i8", type_of(Kind::i64)},   {"|u1", type_of(Kind::u8)},      {"<u2", type_of(Kind::u16)},
      {"<u4", type_of(Kind::u32)},   {"<u8", type_of(Kind::u64)},     {"<f2", type_of(Kind::f16)},
      {"<f4", type_of(Kind::f32)},   {"<f8", type_of(Kind::f64)},     {"<c8", type_of(Kind::c64)},
      {"<c16", type_of(Kind::c128)}, {"|b1", type_of(Kind::boolean)}, {"|S1", string_type(1)},
      {"|S123", string_type(123)}};
  for (const auto& [text, type] : expected) {
    EXPECT_EQ(model::numpy_type(type), text);
    const auto found = model::numpy_type_named(text);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(found->type, type) << text;
    EXPECT_FALSE(found->big_endian) << text;
  }
  EXPECT_EQ(model::numpy_type(type_of(Kind::f32), true), ">f4");
  EXPECT_EQ(model::numpy_type(type_of(Kind::u8), true), "|u1");
  EXPECT_TRUE(model::numpy_type_named(">c16")->big_endian);
  EXPECT_FALSE(model::numpy_type_named(">b1")->big_endian);
  EXPECT_FALSE(model::numpy_type_named(">S8")->big_endian);
  EXPECT_EQ(model::numpy_type_named("f8")->type, type_of(Kind::f64));
  for (const char* text : {"", "<", "<f", "<f3", "<f16", "<i16", "<c4", "<b2", "|S0", "<U4", "|O",
                           "<M8[ns]", "<f4x", "<f-4", "<f99999999999", "4"}) {
    EXPECT_FALSE(model::numpy_type_named(text)) << text;
  }
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
