// Bytes and hashes that files hold: of the list of contents, and of an entry of records. Files of
// earlier versions have these, so none of them may change.
#include <gtest/gtest.h>

#include "codec/checksum.hpp"
#include "layout/records/entry_text.hpp"

namespace sluice::layout {
namespace {

model::Definition field() {
  model::Definition definition;
  definition.name = "group/field";
  definition.type = type_of<float>();
  definition.shape = {3, 1ULL << 33};
  definition.stepped = definition.partial = definition.varying = true;
  definition.fill.resize(4, std::byte{7});
  definition.dimensions = {"rows", "columns"};
  return definition;
}

/// One of each type, in the order of the variant.
std::vector<model::Attribute> attributes() {
  return {{"", "boolean", true},
          {"", "int32", std::int32_t{-5}},
          {"a", "int64", std::int64_t{1} << 40},
          {"a", "float32", 1.5F},
          {"a", "float64", -0.1},
          {"a", "text", std::string("micro\xc2\xb5")},
          {"b", "int32s", std::vector<std::int32_t>{1, -2}},
          {"b", "int64s", std::vector<std::int64_t>{3}},
          {"b", "float32s", std::vector<float>{0.5F, 2.5F}},
          {"b", "float64s", std::vector<double>{}},
          {"b", "texts", std::vector<std::string>{"x", "", "yz"}}};
}

Contents of_one_field(const std::vector<model::Attribute>& attributes) {
  StoredVariable variable;
  variable.definition = field();
  return contents_of({variable}, attributes);
}

TEST(StoredBytes, HashesOfContents) {
  std::vector<std::uint64_t> values;
  for (const model::Attribute& attribute : attributes()) {
    Contents one;
    record(one, attribute);
    values.push_back(one.begin()->second);
  }
  const std::vector<std::uint64_t> expected{
      746442697922379352U,  5027875029331958080U,  4545056366961108133U, 8209113740597080826U,
      5716188214469999892U, 18024484978185296668U, 3927149328756408468U, 159156397284336117U,
      4348187960296030661U, 18096404086324926682U, 499758040026938693U};
  EXPECT_EQ(values, expected);
  const Contents of_field = of_one_field({});
  ASSERT_EQ(of_field.size(), 1U);
  EXPECT_EQ(of_field.begin()->first, 4708025085202374309U);
  EXPECT_EQ(of_field.begin()->second, 10048593679388127430U);
}

TEST(StoredBytes, AnEntryOfRecords) {
  records::Entry entry;
  entry.previous = {2, 4096, 312};
  entry.steps = 3;
  entry.row = {2, 0.25, 8192, 4, 1700000000000000000};
  entry.definitions = {field()};
  entry.attributes = attributes();
  entry.sections = {{0, {2, 5}, 12288}, {1, {}, absent}};
  const std::vector<std::byte> text = records::entry_text(entry);
  EXPECT_EQ(text.size(), 491U);
  EXPECT_EQ(codec::checksum(std::span<const std::byte>(text)), 13063586253693136262U);
}

}  // namespace
}  // namespace sluice::layout
