// Which ranks write a part together.
#include "plan/groups.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace sluice::plan {
namespace {

std::vector<int> numbers(const std::string& strategy, int writers, int ranks) {
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(group_of(strategy, writers, {.rank = rank, .ranks = ranks}).number);
  }
  return all;
}

TEST(Groups, EachRankItsOwn) {
  EXPECT_EQ(numbers("file-per-process", 0, 5), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(group_of("file-per-process", 0, {.rank = 2, .ranks = 5}).count, 5);
}

TEST(Groups, WritersAreRunsOfConsecutiveRanksWhoseSizesDifferByOneAtMost) {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    for (int writers = 1; writers <= ranks; ++writers) {
      const std::vector<int> all = numbers("file-per-node", writers, ranks);
      EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
      std::vector<int> sizes(static_cast<std::size_t>(writers));
      for (const int number : all) {
        ASSERT_LT(number, writers);
        ++sizes[static_cast<std::size_t>(number)];
      }
      const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
      EXPECT_GE(*least, 1) << ranks << " ranks, " << writers << " writers";
      EXPECT_LE(*most - *least, 1) << ranks << " ranks, " << writers << " writers";
    }
  }
}

TEST(Groups, ManyRanksDoNotOverflow) {
  constexpr int ranks = 100000;
  const Group last = group_of("file-per-node", 99999, {.rank = ranks - 1, .ranks = ranks});
  EXPECT_EQ(last.number, 99998);
}

TEST(Groups, NodesUnlessWritersAreGiven) {
  const Topology there{.rank = 5, .ranks = 8, .node = 2, .nodes = 4};
  EXPECT_EQ(group_of("file-per-node", 0, there).number, 2);
  EXPECT_EQ(group_of("file-per-node", 0, there).count, 4);
  EXPECT_EQ(group_of("file-per-node", 2, there).number, 1);
}

TEST(Groups, PretendedNodes) {
  const Topology one{.rank = 5, .ranks = 8, .node = 0, .nodes = 1};
  EXPECT_EQ(pretend(one, 0).node, 0);
  EXPECT_EQ(pretend(one, 3).node, 1);
  EXPECT_EQ(pretend(one, 3).nodes, 3);
  EXPECT_THROW(pretend(one, -1), Error);
}

TEST(Groups, WritersOutOfRangeAreRefused) {
  for (const int writers : {-1, 5}) {
    try {
      group_of("file-per-node", writers, {.rank = 0, .ranks = 4});
      FAIL() << writers;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("writers"), std::string::npos);
    }
  }
}

TEST(Groups, OnlyTheseTwoStrategiesWriteParts) {
  EXPECT_TRUE(writes_parts("file-per-process"));
  EXPECT_TRUE(writes_parts("file-per-node"));
  for (const char* other : {"serial", "shared", "collective", "auto", ""}) {
    EXPECT_FALSE(writes_parts(other)) << other;
  }
}

}  // namespace
}  // namespace sluice::plan
