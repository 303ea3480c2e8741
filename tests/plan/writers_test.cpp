// Which ranks write by the options writers, first_writer, writer_spacing and writer_map.
#include <gtest/gtest.h>

#include "plan/plan.hpp"

namespace sluice::plan {
namespace {

using Ranks = std::vector<int>;

Topology of(int ranks, int nodes = 1) {
  Topology topology;
  topology.ranks = ranks;
  topology.nodes = nodes;
  return topology;
}

WriterChoice choose(int writers, int first = 0, int spacing = 0) {
  WriterChoice choice;
  choice.writers = writers;
  choice.first_writer = first;
  choice.writer_spacing = spacing;
  return choice;
}

WriterChoice by_map(const std::string& map, int writers = 0) {
  WriterChoice choice;
  choice.writers = writers;
  choice.writer_map = map;
  return choice;
}

TEST(writers, spaced) {
  EXPECT_EQ(writer_ranks(of(8), choose(4)), (Ranks{0, 2, 4, 6}));
  EXPECT_EQ(writer_ranks(of(8), choose(3)), (Ranks{0, 2, 4}));
  EXPECT_EQ(writer_ranks(of(8), choose(8)), (Ranks{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(writer_ranks(of(8), choose(2, 1)), (Ranks{1, 4}));
  EXPECT_EQ(writer_ranks(of(8), choose(3, 1, 1)), (Ranks{1, 2, 3}));
  EXPECT_EQ(writer_ranks(of(8), choose(1, 7)), (Ranks{7}));
}

TEST(writers, by_node) {
  EXPECT_EQ(writer_ranks(of(8, 4), by_map("node", 4)), (Ranks{0, 2, 4, 6}));
  EXPECT_EQ(writer_ranks(of(8, 2), by_map("node", 3)), (Ranks{0, 2, 4}));
  Topology scattered = of(6, 2);
  scattered.node_of = {0, 1, 0, 1, 0, 1};
  EXPECT_EQ(writer_ranks(scattered, by_map("node", 2)), (Ranks{0, 1}));
  EXPECT_EQ(writer_ranks(scattered, by_map("node", 6)), (Ranks{0, 1, 2, 3, 4, 5}));
}

TEST(writers, listed) {
  EXPECT_EQ(writer_ranks(of(9), by_map("0,4,8")), (Ranks{0, 4, 8}));
  EXPECT_EQ(writer_ranks(of(9), by_map("7, 2", 2)), (Ranks{2, 7}));
}

TEST(writers, default_by_node_takes_nodes_with_fewer_ranks) {
  Topology lopsided = of(4, 2);
  lopsided.node_of = {0, 1, 1, 1};
  EXPECT_EQ(writer_ranks(lopsided, by_map("node")), (Ranks{0, 1, 2}));
  Topology rest = of(9, 2);
  rest.node_of = {0, 0, 0, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(writer_ranks(rest, by_map("node")), (Ranks{0, 2, 4, 6, 8}));
}

TEST(writers, default_is_some_on_every_node) {
  EXPECT_EQ(writer_ranks(of(1), choose(0)), (Ranks{0}));
  for (const int ranks : {2, 3, 8, 64}) {
    const Ranks chosen = writer_ranks(of(ranks), choose(0));
    EXPECT_EQ(chosen.size(), static_cast<std::size_t>(std::min(ranks, default_writers_per_node)));
  }
  EXPECT_EQ(writer_ranks(of(64, 8), choose(0)).size(), 8u * default_writers_per_node);
  EXPECT_EQ(writer_ranks(of(4), choose(0, 3)), (Ranks{3}));
  EXPECT_EQ(writer_ranks(of(8), choose(0, 0, 7)), (Ranks{0, 7}));
}

TEST(writers, by_distance) {
  // Storage is near the ranks 3 and 6 of 8.
  Distances distances;
  distances.to_storage = [](int rank) { return rank == 3 || rank == 6 ? 1.0 : 10.0; };
  EXPECT_EQ(nearest_writers(8, 2, distances), (Ranks{3, 6}));
  EXPECT_EQ(nearest_writers(8, 1, distances), (Ranks{3})) << "the lowest of equals";
  EXPECT_EQ(nearest_writers(8, 4, distances), (Ranks{0, 3, 4, 6}));
  EXPECT_EQ(nearest_writers(8, 8, distances), (Ranks{0, 1, 2, 3, 4, 5, 6, 7}));
  // On a line of ranks, the middle of a group is nearest to all of it.
  distances.between = [](int from, int writer) { return std::abs(from - writer); };
  distances.to_storage = {};
  EXPECT_EQ(nearest_writers(9, 3, distances), (Ranks{1, 4, 7}));
  // Both: the distance within the group against that to storage, for every byte.
  distances.to_storage = [](int rank) { return rank % 3 == 2 ? 0.0 : 0.5; };
  EXPECT_EQ(nearest_writers(9, 3, distances), (Ranks{2, 5, 8}));
  distances.to_storage = [](int rank) { return rank % 3 == 2 ? 0.0 : 0.2; };
  EXPECT_EQ(nearest_writers(9, 3, distances), (Ranks{1, 4, 7}));
  EXPECT_EQ(nearest_writers(7, 3, Distances{}), (Ranks{0, 2, 4}));
}

TEST(writers, are_the_cheapest_of_all_choices_that_follow_the_ranks) {
  // Against trying every member of every group.
  for (std::uint32_t seed = 1; seed <= 50; ++seed) {
    const int ranks = 5 + static_cast<int>(seed % 7);
    const int groups = 1 + static_cast<int>(seed % 4);
    const auto noise = [&](int a, int b) {
      return static_cast<double>((seed * 2654435761U + a * 40503U + b * 9973U) % 1000);
    };
    const Distances distances{noise, [&](int rank) { return noise(rank, rank) / 3; }};
    const Ranks chosen = nearest_writers(ranks, groups, distances);
    ASSERT_EQ(chosen.size(), static_cast<std::size_t>(groups));
    for (int g = 0; g < groups; ++g) {
      const int first = ranks * g / groups;
      const int last = ranks * (g + 1) / groups;
      const auto cost = [&](int writer) {
        double sum = 0;
        for (int from = first; from < last; ++from) {
          sum += distances.to_storage(writer) + (from == writer ? 0 : noise(from, writer));
        }
        return sum;
      };
      const int mine = chosen[static_cast<std::size_t>(g)];
      ASSERT_TRUE(first <= mine && mine < last);
      for (int other = first; other < last; ++other) {
        EXPECT_LE(cost(mine), cost(other) + 1e-9) << seed;
      }
    }
  }
}

TEST(writers, by_listed_costs) {
  EXPECT_EQ(writer_ranks(of(6), by_map("costs 5,1,5,5,5,0.5", 2)), (Ranks{1, 5}));
  EXPECT_EQ(writer_ranks(of(4), by_map("costs 1, 1, 1, 1", 2)), (Ranks{0, 2}));
  EXPECT_EQ(writer_ranks(of(8, 2), by_map("costs 9,9,9,1,9,9,9,1")).size(),
            2u * default_writers_per_node);
}

void refused(const Topology& topology, const WriterChoice& choice, const std::string& option,
             const std::string& why = "") {
  try {
    writer_ranks(topology, choice);
    FAIL() << "not refused: " << option;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::invalid_argument);
    EXPECT_EQ(std::string(e.what()).rfind(option + ":", 0), 0u) << e.what();
    EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
  }
}

TEST(writers, what_cannot_be_is_refused_by_name) {
  refused(of(4), choose(5), "writers", "5 exceed the 4 ranks");
  refused(of(4), choose(-1), "writers", "-1 is negative");
  refused(of(4), choose(2, 3), "writers");
  refused(of(4), choose(1, 4), "first_writer");
  refused(of(4), choose(1, -1), "first_writer");
  refused(of(4), choose(2, 0, 4), "writer_spacing");
  refused(of(4), choose(2, 0, -1), "writer_spacing");
  refused(of(4), by_map("0,4"), "writer_map");
  refused(of(4), by_map("0,1,0"), "writer_map");
  refused(of(4), by_map("0,-1"), "writer_map");
  refused(of(4), by_map(""), "writer_map");
  refused(of(4), by_map("0,"), "writer_map");
  refused(of(4), by_map("even"), "writer_map");
  refused(of(4), by_map("costs 1,2,3"), "writer_map");
  refused(of(4), by_map("costs 1,2,3,4,5"), "writer_map");
  refused(of(4), by_map("costs 1,2,3,"), "writer_map");
  refused(of(4), by_map("costs 1,2,3,x"), "writer_map");
  refused(of(4), by_map("costs 1,2,3,-4", 2), "writer_map");
  refused(of(4), by_map("costs 1,2,3,nan", 2), "writer_map");
  refused(of(4), by_map("0,1", 3), "writers");
  WriterChoice mixed = by_map("node", 1);
  mixed.first_writer = 1;
  refused(of(4), mixed, "first_writer");
  Topology lopsided = of(4, 2);
  lopsided.node_of = {0, 1, 1, 1};
  refused(lopsided, by_map("node", 4), "writers");
}

TEST(writers, only_they_open_the_file) {
  const Strategy& collective = strategy("collective");
  for (int rank = 0; rank < 8; ++rank) {
    Topology topology = of(8);
    topology.rank = rank;
    EXPECT_EQ(collective.openers(topology, choose(2, 1, 5)).index_of(rank) >= 0,
              rank == 1 || rank == 6);
  }
}

TEST(writers, plan_stays_inside_the_budget) {
  const std::vector<layout::Portion> portions(3);
  const std::vector<std::uint64_t> sizes{4 << 20, 4 << 20, 1 << 20};
  for (const std::uint64_t budget : {64ULL << 20, 256ULL << 20, 1ULL << 30}) {
    Input input{of(4), portions, sizes, {0, 1ULL << 30}, choose(2), 0};
    input.choice.budget_bytes = budget;
    const Plan plan = strategy("collective").plan(input);
    EXPECT_LE(plan.buffer_bytes, budget);
    EXPECT_EQ(plan.window_bytes % default_tile_bytes, 0u);
    EXPECT_NE(plan.text().find("contiguous, to ranks 0 2"), std::string::npos) << plan.text();
  }
}

}  // namespace
}  // namespace sluice::plan
