// The list of parts as words, and the paths in it.
#include "layout/part_set.hpp"

#include <gtest/gtest.h>

#include "commit/read/mapping_list.hpp"
#include "storage/calls.hpp"

namespace sluice::layout {
namespace {

PartSet sample() {
  PartSet set;
  set.id = 0x1234567890abcdefULL;
  set.strategy = "file-per-node";
  set.variables = {{"group/spins", true, "digits:4+deflate:6"}, {"y", false}, {"x", false}};
  set.datasets = {"group/spins", "group/spins~1"};
  set.parts = {{"out.h5.parts/000000.h5", 7, 3, -5, 12345}, {"/scratch/1.h5", 8, 1, 99, 1}};
  Mapping natural;
  natural.variable = 0;
  natural.part = 1;
  natural.dataset = 1;
  natural.first_step = 3;
  natural.steps = 9;
  natural.first_row = 1;
  natural.box = {{4, 0}, {2, 3}};
  Mapping listed;
  listed.variable = 2;
  listed.listed = true;
  listed.offset = 77;
  set.mappings = {natural, listed};
  return set;
}

TEST(PartSet, WordsHoldEverything) {
  const PartSet set = sample();
  const PartSet again = PartSet::from_words(set.words(), "f");
  EXPECT_EQ(again.id, set.id);
  EXPECT_EQ(again.strategy, set.strategy);
  ASSERT_EQ(again.variables.size(), 3u);
  EXPECT_EQ(again.variables[0].name, "group/spins");
  EXPECT_TRUE(again.variables[0].stepped);
  EXPECT_FALSE(again.variables[2].stepped);
  EXPECT_EQ(again.variables[0].compress, "digits:4+deflate:6");
  EXPECT_EQ(again.variables[2].compress, "");
  EXPECT_EQ(again.datasets, set.datasets);
  EXPECT_EQ(again.parts, set.parts);
  ASSERT_EQ(again.mappings.size(), 2u);
  EXPECT_TRUE(again.mappings[0] == set.mappings[0]);
  EXPECT_EQ(again.mappings[0].first_step, 3u);
  EXPECT_EQ(again.mappings[0].steps, 9u);
  EXPECT_EQ(again.mappings[0].first_row, 1u);
  EXPECT_TRUE(again.mappings[1] == set.mappings[1]);
  EXPECT_EQ(again.words(), set.words());
}

TEST(PartSet, AListForReadersGivesTheMappingsBack) {
  const PartSet set = sample();
  const commit::MappingList list(set.mappings);
  ASSERT_EQ(list.size(), set.mappings.size());
  std::size_t m = 0;
  for (const Mapping& mapping : list) {
    EXPECT_TRUE(mapping == set.mappings[m]);
    EXPECT_EQ(list.variable(m), mapping.variable);
    for (const std::uint64_t step : {0, 2, 3, 11, 12}) {
      EXPECT_EQ(list.holds(m, step), mapping.holds(step));
    }
    ++m;
  }
  EXPECT_EQ(m, set.mappings.size());
}

TEST(PartSet, AnyChangedOrMissingWordIsDamage) {
  const std::vector<std::uint64_t> words = sample().words();
  for (std::size_t at = 0; at < words.size(); ++at) {
    for (const int bit : {0, 17, 63}) {
      std::vector<std::uint64_t> changed = words;
      changed[at] ^= 1ULL << bit;
      try {
        PartSet::from_words(changed, "some.h5");
        FAIL() << "word " << at;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::damaged);
        EXPECT_NE(std::string(error.what()).find("some.h5"), std::string::npos);
      }
    }
    const std::span<const std::uint64_t> shorter(words.data(), at);
    EXPECT_THROW(PartSet::from_words(shorter, "some.h5"), Error) << at;
  }
}

TEST(PartSet, DatasetNamesAreKeptOnce) {
  PartSet set = sample();
  EXPECT_EQ(set.dataset_number("group/spins~1"), 1u);
  EXPECT_EQ(set.dataset_number("new"), 2u);
  EXPECT_EQ(set.dataset_number("new"), 2u);
}

TEST(PartPath, IsRelativeToTheIndex) {
  EXPECT_EQ(part_path("out.h5", "out.h5.parts/0.h5"), "out.h5.parts/0.h5");
  EXPECT_EQ(part_path("run/a/out.h5", "out.h5.parts/0.h5"), "run/a/out.h5.parts/0.h5");
  EXPECT_EQ(part_path("run/out.h5", "/scratch/0.h5"), "/scratch/0.h5");
}

TEST(PartPath, ThatLeavesTheFolderIsRefused) {
  for (const char* part : {"../secret.h5", "a/../../b.h5", "/scratch/../etc/b.h5", ""}) {
    EXPECT_THROW(part_path("run/out.h5", part), Error) << part;
  }
  EXPECT_THROW(part_path("out.h5", std::string("a\0b", 3)), Error);
}

TEST(PartPath, InTheIndexIsRelativeWhereThePartLiesBelow) {
  EXPECT_EQ(name_in_index("out.h5", "out.h5.parts/0.h5"), "out.h5.parts/0.h5");
  EXPECT_EQ(name_in_index("run/out.h5", "./run//x/0.h5"), "x/0.h5");
  EXPECT_EQ(name_in_index(storage::absolute_path("run/out.h5"), "run/0.h5"), "0.h5");
  EXPECT_EQ(name_in_index("run/out.h5", "/scratch/0.h5"), "/scratch/0.h5");
  EXPECT_EQ(name_in_index("run/out.h5", "elsewhere/0.h5"),
            storage::absolute_path("elsewhere/0.h5"));
}

}  // namespace
}  // namespace sluice::layout
