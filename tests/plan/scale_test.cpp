// The cost of a plan on one rank of 100,000 that writes 16 variables in a regular decomposition:
// time, memory, and that neither grows with the ranks. And the plans of all ranks together, in the
// model.
#include <ctime>
#include <gtest/gtest.h>

#include "exec/encode/encoded_rounds.hpp"
#include "plan/groups.hpp"
#include "plan/session_tiles.hpp"
#include "plan/tile_owners.hpp"
#include "sim/compile.hpp"
#include "support/counted_heap.hpp"

namespace sluice::plan {
namespace {

using test::held_bytes;
using test::most_bytes;

constexpr std::size_t mib = 1 << 20;
constexpr int variables = 16;
constexpr int ranks_per_node = 125;

/// With sanitizers and without optimisation code is slower by no fixed factor, but not larger: its
/// seconds are not checked, and the model, which works for every rank, has fewer.
#if defined(SLUICE_ADDRESS_SANITIZER)
constexpr bool optimised = false;
constexpr int modelled_ranks = 10'000;
#else
constexpr bool optimised = true;
constexpr int modelled_ranks = 100'000;
#endif

void expect_within(double seconds, double limit_s, const std::string& what) {
  if (optimised) {
    EXPECT_LE(seconds, limit_s) << what;
  }
}

/// Of this process's own work: whatever else the machine does meanwhile.
double cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Each rank has a box of 64 x 64 x 32 doubles (1 MiB) of each variable.
sim::Job job_of(int ranks) {
  const auto columns = static_cast<std::uint64_t>(ranks) / 8;
  sim::Job job{ranks, ranks / ranks_per_node, sim::Cut::pencils, {}};
  for (int v = 0; v < variables; ++v) {
    job.variables.push_back({{64 * columns, 512, 32}, 8});
  }
  return job;
}

/// The planner's answer to a rank, and the rank's data.
struct OneRank {
  Topology topology;
  std::vector<layout::Placement> placements;
  std::vector<model::Box> boxes;
};

OneRank one_rank(int ranks) {
  const sim::Job job = job_of(ranks);
  OneRank one;
  one.topology.rank = ranks / 2 + 1;
  one.topology.ranks = ranks;
  one.topology.nodes = job.nodes;
  one.topology.node = one.topology.rank / ranks_per_node;
  std::uint64_t at = 4096;
  for (std::uint32_t v = 0; v < variables; ++v) {
    const model::Dims& shape = job.variables[v].shape;
    const model::Dims tile{64, 64, 32};
    std::vector<std::uint64_t> addresses(layout::grid_of(shape, tile).volume());
    for (std::uint64_t& address : addresses) {
      address = std::exchange(at, at + mib);
    }
    const layout::Placement whole(v, 8, shape, tile, addresses);
    model::ByteWriter message;  // as it is broadcast
    whole.write_to(message);
    const std::vector<std::byte> bytes = message.take();
    EXPECT_LT(bytes.size(), 1024U);
    model::ByteReader in(bytes);
    one.placements.push_back(layout::Placement::read_from(in));
    one.boxes.push_back(sim::block_of(
        shape, model::Dims{static_cast<std::uint64_t>(ranks) / 8, 8, 1}, one.topology.rank));
  }
  return one;
}

/// The work of commit on a rank between the planner's answer and the first byte.
Plan plan_one(const OneRank& one, const std::string& name) {
  std::vector<layout::Portion> portions;
  std::vector<std::uint64_t> sizes;
  std::uint64_t first = layout::absent;
  std::uint64_t last = 0;
  for (std::uint32_t v = 0; v < variables; ++v) {
    const layout::Placement& placement = one.placements[v];
    layout::append_portions(v, one.boxes[v], placement.shape(), placement.tile(), 8, portions);
    const layout::Extent hull = placement.hull();
    first = std::min(first, hull.offset);
    last = std::max(last, hull.offset + hull.length);
  }
  for (const layout::Portion& portion : portions) {
    sizes.push_back(portion.piece.box.volume() * 8);
  }
  Input input{one.topology, portions, sizes, {first, last - first}, {}, mib};
  return strategy(name).plan(input);
}

struct Cost {
  double seconds = 0;
  std::int64_t bytes = 0;
};

/// The least seconds of several calls, and the most memory that the last one held.
template <typename Make>
Cost least_cost(int times, const Make& make) {
  Cost cost{1e9, 0};
  for (int i = 0; i < times; ++i) {
    const std::int64_t before = held_bytes;
    most_bytes = before;
    const double began_s = cpu_s();
    const auto made = make();
    cost.seconds = std::min(cost.seconds, cpu_s() - began_s);
    cost.bytes = most_bytes - before;
  }
  return cost;
}

Cost cost_of(const OneRank& one, const std::string& name) {
  return least_cost(9, [&] {
    Plan plan = plan_one(one, name);
    EXPECT_FALSE(plan.strategy.empty());
    return plan;
  });
}

TEST(scale, one_rank_of_many_pays_for_its_own_portions_only) {
  const OneRank of_few = one_rank(1'000);
  const OneRank of_many = one_rank(100'000);
  for (const char* name : {"shared", "collective", "forward", "auto", "serial"}) {
    const Cost few = cost_of(of_few, name);
    const Cost many = cost_of(of_many, name);
    expect_within(many.seconds, 1e-3, name);
    EXPECT_LE(many.bytes, std::int64_t{mib}) << name;
    EXPECT_EQ(many.bytes, few.bytes) << name << " grows with the ranks";
    std::printf("%s: %.0f us, %lld bytes\n", name, many.seconds * 1e6,
                static_cast<long long>(many.bytes));
  }
}

TEST(scale, a_group_of_many_is_found_by_arithmetic) {
  const OneRank of_many = one_rank(100'000);
  const std::int64_t before = held_bytes;
  most_bytes = before;
  EXPECT_EQ(group_of(per_node, 0, of_many.topology).count, 800);
  EXPECT_EQ(group_of(per_process, 0, of_many.topology).count, 100'000);
  EXPECT_LE(most_bytes - before, 256);  // the name of the strategy
}

TEST(scale, owners_of_tiles_are_found_by_arithmetic) {
  const OneRank of_many = one_rank(100'000);
  const std::int64_t before = held_bytes;
  most_bytes = before;
  const RankList ranks = strategy("shared").openers(of_many.topology, {});
  const TileOwners encoders(ranks, std::vector<std::uint64_t>(variables, 250'007));
  // 2 of each variable, and of 16 x 50,007 that are dealt to 100,000.
  EXPECT_EQ(encoders.most(), 2U * variables + 9);
  EXPECT_EQ(encoders.place_of(3, 250'006).owner, 99'999U);
  const SessionTiles sessions(writer_list(of_many.topology, {}), mib);
  EXPECT_EQ(sessions.owners_of({5 * mib, 3 * mib}).size(), 3U);
  EXPECT_LE(most_bytes - before, 4096);
}

TEST(scale, owners_of_tiles_are_found_in_any_number_of_variables) {
  constexpr std::uint32_t many = 20'000;
  const double began_s = cpu_s();
  const TileOwners owners(RankList::spaced(0, 1, 64), std::vector<std::uint64_t>(many, 3));
  EXPECT_EQ(owners.most(), 3 * many / 64 + 1);
  for (std::uint32_t v = 0; v < many; ++v) {
    const TileOwners::Place place = owners.place_of(v, 1);
    EXPECT_EQ(owners.tile_at(place.owner, place.position).variable, v);
  }
  const double seconds = cpu_s() - began_s;
  expect_within(seconds, 0.5, "owners of the tiles of many variables");
  std::printf("owners of the tiles of %u variables: %.1f ms\n", many, seconds * 1e3);
}

/// The computation of a rank for a round of compressed tiles in the background.
TEST(scale, provisional_addresses_are_worked_out_for_own_tiles_only) {
  constexpr std::uint64_t tiles = 250'007;
  std::vector<exec::EncodedVariable> encoded(variables);
  const std::vector<model::Definition> definitions(variables);  // doubles
  for (std::uint32_t v = 0; v < variables; ++v) {
    encoded[v].variable = v;
    encoded[v].shape = {64 * tiles, 64};
    encoded[v].tiling = model::Dims{64, 64};
  }
  const exec::EncodedRounds rounds(encoded, definitions, RankList::spaced(0, 1, 100'000), mib);
  const TileOwners::Tile part{7, 200'000};
  const std::uint64_t round = rounds.round_of(part.variable, part.tile);
  const double began_s = cpu_s();
  const layout::CommitPlan places = rounds.placements(round, 50'001, {&part, 1});
  const double seconds = cpu_s() - began_s;
  std::uint64_t there = 0;
  for (const layout::Placement& placement : places.placements) {
    for (std::uint64_t t = 0; t < tiles; ++t) {
      there += placement.address(t) != layout::absent ? 1 : 0;
    }
  }
  EXPECT_LE(there, rounds.per_round() + 1);
  EXPECT_GE(there, 2U);
  expect_within(seconds, 0.1, "provisional addresses");
  std::printf("provisional addresses of %d x %lu tiles: %.1f ms\n", variables,
              static_cast<unsigned long>(tiles), seconds * 1e3);
}

Cost cost_of_all(const sim::Job& job, const std::string& name) {
  sim::Choice choice;
  choice.strategy = name;
  return least_cost(optimised ? 3 : 1, [&] {
    sim::Compiled compiled = sim::compile(job, choice, {mib});
    EXPECT_EQ(compiled.data_bytes, static_cast<std::uint64_t>(job.ranks) * variables * mib);
    return compiled;
  });
}

TEST(scale, all_plans_of_a_large_run_fit_a_moment) {
  const sim::Job job = job_of(modelled_ranks);
  for (const char* name : {"shared", "forward"}) {
    const Cost cost = cost_of_all(job, name);
    expect_within(cost.seconds, 4, name);  // 1 to 2.2, as fast as the machine is just then
    EXPECT_LE(cost.bytes, std::int64_t{10 * 1024} * modelled_ranks) << name;
    std::printf("%s: %d ranks, %.2f s, %lld MiB\n", name, modelled_ranks, cost.seconds,
                static_cast<long long>(cost.bytes >> 20));
  }
}

}  // namespace
}  // namespace sluice::plan
