// The check of a decomposition over many ranks: every rank reports what one search over all blocks
// would report, in the same words.
#include "model/coverage.hpp"

#include <array>
#include <gtest/gtest.h>

#include "exec/check/check.hpp"
#include "model/holes.hpp"
#include "model/random_boxes.hpp"
#include "support/local_transport.hpp"

namespace sluice::exec {
namespace {

using model::Box;
using model::Dims;
using model::OwnedBox;

using Decomposition = std::vector<OwnedBox>;
using CheckCall = void (*)(Transport&, std::span<const VariableShape>, std::span<const OwnBlock>);

struct Outcome {
  Code code = Code::ok;
  std::string text;
  int rank = -1;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// The report of all ranks; they must agree.
Outcome outcome_of(CheckCall check, int ranks, const std::vector<VariableShape>& variables,
                   const Decomposition& blocks, std::uint64_t seed = 1) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  run_local(ranks, seed, [&](Transport& transport) {
    std::vector<OwnBlock> own;
    for (const OwnedBox& block : blocks) {
      if (block.rank == transport.rank()) {
        own.push_back({block.variable, block.box});
      }
    }
    Outcome& outcome = outcomes[static_cast<std::size_t>(transport.rank())];
    try {
      check(transport, variables, own);
    } catch (const Error& error) {
      outcome = {error.code(), error.what(), error.rank()};
    }
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome, outcomes[0]) << outcome.text << " / " << outcomes[0].text;
  }
  return outcomes[0];
}

std::vector<VariableShape> random_variables(test::Random& random) {
  std::vector<VariableShape> variables;
  const std::uint64_t count = test::pick(random, 1, 3);
  for (std::uint64_t v = 0; v < count; ++v) {
    const int rank = static_cast<int>(test::pick(random, 0, 4));
    variables.push_back({"group/v" + std::to_string(v), test::random_shape(random, rank, 20),
                         test::pick(random, 0, 3) == 0});
  }
  return variables;
}

/// All variables cut into blocks of random ranks.
Decomposition random_decomposition(test::Random& random, int ranks,
                                   const std::vector<VariableShape>& variables) {
  Decomposition blocks;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    std::vector<Box> pieces;
    test::cut(random, model::whole(variables[v].shape), static_cast<int>(test::pick(random, 0, 6)),
              pieces);
    for (const Box& piece : pieces) {
      blocks.push_back({piece, static_cast<int>(test::pick(random, 0, std::uint64_t(ranks - 1))),
                        static_cast<std::uint32_t>(v)});
    }
  }
  return blocks;
}

std::string advice_on(const model::Overlap& overlap) {
  if (overlap.common.start.empty()) {
    return ": it is one value, without dimensions: put it on one rank only";
  }
  return overlap.first.box == overlap.second.box
             ? ": each element is put once: put it on one rank only, or each rank's part at its "
               "own start (in Python put() takes shape= and start=)"
             : "";
}

/// The report of one rank that knew all blocks.
Outcome expected_of(const std::vector<VariableShape>& variables, const Decomposition& blocks) {
  const auto block_text = [](const OwnedBox& block) {
    return "rank " + std::to_string(block.rank) + "'s block " + block.box.text();
  };
  if (const auto overlap = model::find_overlap(blocks)) {
    return {Code::overlap,
            variables[overlap->first.variable].name + ": " + block_text(overlap->first) + " and " +
                block_text(overlap->second) + " both cover " + overlap->common.text() +
                advice_on(*overlap),
            overlap->first.rank};
  }
  for (std::size_t v = 0; v < variables.size(); ++v) {
    std::vector<Box> boxes;
    for (const OwnedBox& block : blocks) {
      if (block.variable == v) {
        boxes.push_back(block.box);
      }
    }
    const auto hole = test::find_hole(model::whole(variables[v].shape), boxes);
    if (hole && !variables[v].partial) {
      return {Code::hole,
              variables[v].name + ": no rank put " + hole->text() +
                  ": put it too, or define the variable as partial",
              -1};
    }
  }
  return {};
}

TEST(Coverage, RandomDecompositionsAsOneSearchOverAllBlocks) {
  test::Random random(10);
  std::array<int, 60> seen{};
  for (std::uint64_t round = 0; round < 400; ++round) {
    const int ranks = static_cast<int>(test::pick(random, 1, 9));
    const auto variables = random_variables(random);
    Decomposition blocks = random_decomposition(random, ranks, variables);
    EXPECT_EQ(outcome_of(check_coverage, ranks, variables, blocks, round), Outcome());

    const std::uint64_t damage = test::pick(random, 1, 3);
    if ((damage & 1) != 0) {  // leave a block out, or a part of it
      OwnedBox& block = blocks[random() % blocks.size()];
      block.box = test::random_box(random, block.box, true);
    }
    if ((damage & 2) != 0) {
      const auto v = static_cast<std::uint32_t>(random() % variables.size());
      blocks.push_back({test::random_box(random, model::whole(variables[v].shape)),
                        static_cast<int>(random() % static_cast<unsigned>(ranks)), v});
    }
    const Outcome expected = expected_of(variables, blocks);
    ++seen[static_cast<std::size_t>(expected.code)];
    EXPECT_EQ(outcome_of(check_coverage, ranks, variables, blocks, round), expected)
        << expected.text;
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
  EXPECT_GT(seen[static_cast<std::size_t>(Code::overlap)], 100);
  EXPECT_GT(seen[static_cast<std::size_t>(Code::hole)], 30);
  EXPECT_GT(seen[static_cast<std::size_t>(Code::ok)], 10);
}

TEST(Coverage, SaysWhoAndWhere) {
  const std::vector<VariableShape> spins{{"spins", {30, 3}, false}};
  EXPECT_EQ(outcome_of(
                check_coverage, 4, spins,
                {{{{0, 0}, {10, 3}}, 1, 0}, {{{8, 0}, {12, 3}}, 3, 0}, {{{20, 0}, {10, 3}}, 0, 0}}),
            (Outcome{Code::overlap,
                     "spins: rank 1's block start (0, 0) count (10, 3) and rank 3's block start "
                     "(8, 0) count (12, 3) both cover start (8, 0) count (2, 3)",
                     1}));
  EXPECT_EQ(
      outcome_of(check_coverage, 4, spins, {{{{0, 0}, {5, 3}}, 1, 0}, {{{7, 0}, {23, 3}}, 2, 0}}),
      (Outcome{Code::hole,
               "spins: no rank put start (5, 0) count (2, 3): put it too, or define the "
               "variable as partial",
               -1}));
  EXPECT_EQ(outcome_of(check_coverage, 4, spins, {}).text,
            "spins: no rank put start (0, 0) count (30, 3): put it too, or define the variable as "
            "partial");
}

TEST(Coverage, ABlockOutsideIsEveryRanksError) {
  const std::vector<VariableShape> spins{{"spins", {30, 3}, true}};
  const Decomposition blocks{
      {{{0, 0}, {10, 3}}, 0, 0}, {{{25, 0}, {10, 3}}, 2, 0}, {{{10, ~0ULL}, {10, 2}}, 3, 0}};
  const Outcome expected{
      Code::out_of_bounds,
      "rank 2: spins: block start (25, 0) count (10, 3) is outside shape (30, 3)", 2};
  EXPECT_EQ(outcome_of(check_coverage, 4, spins, blocks), expected);
  EXPECT_EQ(outcome_of(check_volume, 4, spins, blocks), expected);
  EXPECT_EQ(outcome_of(check_coverage, 4, spins, {{{{0}, {10}}, 1, 0}}).code, Code::out_of_bounds);
  EXPECT_EQ(outcome_of(check_coverage, 4, spins, {{{{0, 0}, {1, 1}}, 1, 7}}).code, Code::internal);
}

TEST(Coverage, PartialVariablesMayHaveHolesButNoOverlaps) {
  const std::vector<VariableShape> variables{{"a", {100}, true}, {"b", {100}, false}};
  Decomposition blocks{{{{3}, {20}}, 0, 0}, {{{50}, {9}}, 1, 0}, {{{0}, {100}}, 1, 1}};
  EXPECT_EQ(outcome_of(check_coverage, 3, variables, blocks), Outcome());
  blocks.push_back({{{58}, {4}}, 2, 0});
  EXPECT_EQ(outcome_of(check_coverage, 3, variables, blocks).code, Code::overlap);
}

TEST(Coverage, EmptyShapesScalarsAndNoVariables) {
  EXPECT_EQ(outcome_of(check_coverage, 3, {}, {}), Outcome());
  EXPECT_EQ(outcome_of(check_coverage, 3, {{"none", {0, 4}, false}}, {{{{0, 0}, {0, 4}}, 1, 0}}),
            Outcome());
  const std::vector<VariableShape> time{{"time", {}, false}};
  EXPECT_EQ(outcome_of(check_coverage, 3, time, {{{{}, {}}, 2, 0}}), Outcome());
  EXPECT_EQ(outcome_of(check_coverage, 3, time, {{{{}, {}}, 2, 0}, {{{}, {}}, 0, 0}}).code,
            Code::overlap);
  EXPECT_EQ(outcome_of(check_coverage, 3, time, {}).code, Code::hole);
}

TEST(Coverage, PencilsOfManyRanks) {
  const std::vector<VariableShape> field{{"field", {32, 32, 1000}, false}};
  Decomposition blocks;
  for (int rank = 0; rank < 256; ++rank) {
    const auto row = static_cast<std::uint64_t>(rank / 16);
    const auto column = static_cast<std::uint64_t>(rank % 16);
    blocks.push_back({{{2 * row, 2 * column, 0}, {2, 2, 1000}}, rank, 0});
  }
  EXPECT_EQ(outcome_of(check_coverage, 256, field, blocks), Outcome());
  blocks[100].box.count[2] = 999;
  EXPECT_EQ(outcome_of(check_coverage, 256, field, blocks).text,
            "field: no rank put start (12, 8, 999) count (2, 2, 1): put it too, or define the "
            "variable as partial");
  blocks[101].box.start[1] -= 1;
  EXPECT_EQ(outcome_of(check_coverage, 256, field, blocks).text,
            "field: rank 100's block start (12, 8, 0) count (2, 2, 999) and rank 101's block start "
            "(12, 9, 0) count (2, 2, 1000) both cover start (12, 9, 0) count (2, 1, 999)");
}

TEST(Coverage, HugeExtents) {
  constexpr std::uint64_t side = 1ULL << 62;
  const std::vector<VariableShape> line{{"line", {side}, false}};
  EXPECT_EQ(
      outcome_of(check_coverage, 3, line, {{{{0}, {1}}, 0, 0}, {{{side - 1}, {1}}, 2, 0}}).text,
      "line: no rank put start (1) count (4611686018427387902): put it too, or define the "
      "variable as partial");
  EXPECT_EQ(
      outcome_of(check_coverage, 3, line, {{{{0}, {side - 1}}, 0, 0}, {{{side - 1}, {1}}, 2, 0}}),
      Outcome());
}

TEST(Volume, CountsElementsOnly) {
  const std::vector<VariableShape> spins{{"spins", {10, 3}, false}};
  EXPECT_EQ(
      outcome_of(check_volume, 3, spins, {{{{0, 0}, {5, 3}}, 0, 0}, {{{5, 0}, {5, 3}}, 2, 0}}),
      Outcome());
  EXPECT_EQ(
      outcome_of(check_volume, 3, spins, {{{{0, 0}, {5, 3}}, 0, 0}, {{{5, 0}, {4, 3}}, 2, 0}}),
      (Outcome{Code::hole, "spins: 27 elements were put, but shape (10, 3) has 30", -1}));
  EXPECT_EQ(
      outcome_of(check_volume, 3, spins, {{{{0, 0}, {10, 3}}, 0, 0}, {{{5, 0}, {1, 1}}, 2, 0}}),
      (Outcome{Code::overlap, "spins: 31 elements were put, but shape (10, 3) has 30", -1}));
  EXPECT_EQ(outcome_of(check_volume, 3, {{"some", {10}, true}}, {{{{0}, {4}}, 1, 0}}), Outcome());
  // as documented: an overlap of the same size as a hole is not detected
  EXPECT_EQ(
      outcome_of(check_volume, 3, spins, {{{{0, 0}, {5, 3}}, 0, 0}, {{{4, 0}, {5, 3}}, 2, 0}}),
      Outcome());
}

}  // namespace
}  // namespace sluice::exec
