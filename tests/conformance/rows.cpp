// Rows by global index: particles on any rank.
#include <numeric>

#include "support/files.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::rows {
namespace {

/// Rows of a variable, in a random order, distributed over the ranks by `rank_of`.
std::vector<std::uint64_t> my_rows(std::uint64_t rows, const Rank& rank, std::uint64_t seed,
                                   const std::function<int(std::uint64_t)>& rank_of) {
  std::vector<std::uint64_t> all(rows);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  Random random(seed);
  std::shuffle(all.begin(), all.end(), random);
  std::erase_if(all, [&](std::uint64_t row) { return !rank.is(rank_of(row)); });
  return all;
}

template <class T>
Array<T> row_values(std::uint64_t key, const Shape& shape, const std::vector<std::uint64_t>& ids) {
  const std::uint64_t width = dims_of(shape).volume() / shape[0];
  Array<T> values(ids.size() * width);
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    values[i] = value_at<T>(key, ids[i / width] * width + i % width);
  }
  return values;
}

template <class T>
void write_rows(World& world, const std::string& path, const Shape& shape, bool steps,
                const std::function<int(std::uint64_t)>& rank_of) {
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<T>("v", shape, {.steps = steps});
    std::deque<Array<T>> held;
    std::deque<std::vector<std::uint64_t>> ids;
    for (std::uint64_t s = 0; s < (steps ? 2 : 1); ++s) {
      ids.push_back(my_rows(shape[0], rank, s, rank_of));
      held.push_back(row_values<T>(s, shape, ids.back()));
      commit(out, steps, [&](auto& target) {
        target.put_rows(v, ids.back().data(), ids.back().size(), held.back().data());
      });
    }
    out.close();
  });
}

template <class T>
void rows_round_trip(World& world, const std::string& name, const Shape& shape, bool steps,
                     const std::function<int(std::uint64_t)>& rank_of) {
  const std::string path = world.path(name + ".h5");
  write_rows<T>(world, path, shape, steps, rank_of);
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        for (std::uint64_t s = 0; s < (steps ? 2 : 1); ++s) {
          expect_values<T>(in, "v", s, shape, whole_box(shape), s);
          // Some rows for every rank, repeatedly, in any order.
          Random random(17 + static_cast<std::uint64_t>(rank.rank()));
          std::vector<std::uint64_t> ids(pick(random, 1, 60));
          for (auto& id : ids) {
            id = pick(random, 0, shape[0] - 1);
          }
          const Array<T> expected = row_values<T>(s, shape, ids);
          Array<T> got(expected.size());
          in.get_rows(in.find("v"), ids.data(), ids.size(), got.data(), s);
          for (std::uint64_t i = 0; i < got.size(); ++i) {
            ASSERT_TRUE(same_bits(got[i], expected[i])) << i;
          }
        }
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(rows, a_permutation) {
  auto anywhere = [](std::uint64_t row) { return static_cast<int>(mixed(row) % 97); };
  rows_round_trip<double>(world, "f64", {83, 3}, true, anywhere);
  rows_round_trip<std::int16_t>(world, "i16", {41}, true, anywhere);
  rows_round_trip<bool>(world, "bool", {30, 2, 2}, false, anywhere);
}

SLUICE_BEHAVIOUR(rows, all_from_one_rank) {
  rows_round_trip<float>(world, "one", {37, 2}, true, [](std::uint64_t) { return 1; });
}

SLUICE_BEHAVIOUR(rows, fewer_than_ranks) {
  rows_round_trip<float>(world, "few", {2, 2}, true,
                         [](std::uint64_t row) { return static_cast<int>(row) + 1; });
}

SLUICE_BEHAVIOUR(rows, wide_rows) {
  // Rows of 80 KB, larger than what is read in one window.
  rows_round_trip<double>(world, "wide", {9, 10000}, true,
                          [](std::uint64_t row) { return static_cast<int>(row); });
}

SLUICE_BEHAVIOUR(rows, in_several_calls_and_of_another_type) {
  const std::string path = world.path("calls.h5");
  const Shape shape = {40};
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<float>("v", shape, {.steps = true});
    const std::vector<std::uint64_t> ids =
        my_rows(40, rank, 5, [](std::uint64_t row) { return static_cast<int>(row % 7); });
    Array<double> values(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      values[i] = value_at<float>(6, ids[i]);
    }
    Step step = out.begin_step();
    const std::size_t half = ids.size() / 2;
    step.put_rows(v, ids.data() + half, ids.size() - half, values.data() + half);
    step.put_rows(v, ids.data(), half, values.data());
    step.put_rows(v, ids.data(), 0, values.data());
    step.end();
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        expect_values<float>(in, "v", 6, shape, whole_box(shape));
        const std::uint64_t ids[] = {39, 0, 39};
        double got[3];
        in.get_rows(in.find("v"), ids, rank.is(0) ? 3 : 0, got);
        if (rank.is(0)) {
          EXPECT_EQ(got[0], value_at<float>(6, 39));
          EXPECT_EQ(got[1], value_at<float>(6, 0));
          EXPECT_EQ(got[2], got[0]);
        }
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(rows, of_variables_without_elements) {
  const std::string path = world.path("none.h5");
  world.run([&](Rank& rank) {
    Files out(world, rank, path, Mode::write);
    const Variable no_rows = out.of("no_rows").define<float>("no_rows", {0, 3}, {.steps = true});
    const Variable no_width = out.of("no_width").define<float>("no_width", {4, 0}, {.steps = true});
    std::vector<std::uint64_t> ids = {3, 0, 2, 1};
    const float nothing = 0;
    out.begin_step();
    out.into("no_rows", [&](auto& step) { step.put_rows(no_rows, ids.data(), 0, &nothing); });
    out.into("no_width", [&](auto& step) {
      step.put_rows(no_width, ids.data(), rank.is(0) ? 4 : 0, &nothing);
    });
    out.end_step();
    out.close();
    Files files(world, rank, path, Mode::read);
    float untouched = 5;
    for (const auto& [name, rows] : {std::pair{"no_rows", 0}, std::pair{"no_width", 4}}) {
      File& in = files.of(name);
      EXPECT_EQ(in.steps(), 1u);
      in.get_rows(in.find(name), ids.data(), static_cast<std::uint64_t>(rows), &untouched);
    }
    EXPECT_EQ(untouched, 5);
  });
}

SLUICE_BEHAVIOUR(rows, as_many_as_ranks_of_a_node_share) {
  auto anywhere = [](std::uint64_t row) { return static_cast<int>(mixed(row) % 97); };
  rows_round_trip<double>(world, "many", {3000, 3}, true, anywhere);
  rows_round_trip<std::uint8_t>(world, "narrow", {40000}, true, anywhere);
}

constexpr std::uint64_t few_rows = 20;
constexpr std::uint64_t many_rows = 3000;  ///< in memory that ranks of a node share

/// Puts `rows` rows round-robin over the ranks, changed by `spoil`.
std::vector<Caught> put_spoiled(
    World& world, const std::string& path, std::uint64_t rows,
    const std::function<void(Rank&, std::vector<std::uint64_t>&)>& spoil) {
  return world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("atoms/x", {rows, 2}, {.steps = true});
    std::vector<std::uint64_t> ids =
        my_rows(rows, rank, 2, [](std::uint64_t row) { return static_cast<int>(row); });
    spoil(rank, ids);
    const Array<double> values(2 * ids.size());
    Step step = out.begin_step();
    step.put_rows(v, ids.data(), ids.size(), values.data());
    step.end();
    out.close();
  });
}

void a_duplicate(World& world, std::uint64_t rows) {
  const std::string path = world.path("duplicate" + std::to_string(rows) + ".h5");
  const auto spoil = [](Rank& rank, std::vector<std::uint64_t>& ids) {
    if (rank.rank() + 1 == rank.ranks()) {
      ids.push_back(0);  // rank 0 has it too
    }
  };
  const auto caught = put_spoiled(world, path, rows, spoil);
  expect_same_error(caught, Code::duplicate_row, {"atoms/x", "row 0", "rank 0", path});
  EXPECT_FALSE(world.exists(path));
}

SLUICE_BEHAVIOUR(rows, a_duplicate_is_named_everywhere) {
  a_duplicate(world, few_rows);
  a_duplicate(world, many_rows);
}

void a_missing_row(World& world, std::uint64_t rows) {
  const std::string path = world.path("missing" + std::to_string(rows) + ".h5");
  const auto spoil = [](Rank&, std::vector<std::uint64_t>& ids) { std::erase(ids, 13U); };
  const auto caught = put_spoiled(world, path, rows, spoil);
  expect_same_error(caught, Code::missing_row, {"atoms/x", "row 13", path});
}

SLUICE_BEHAVIOUR(rows, a_missing_row_is_named_everywhere) {
  a_missing_row(world, few_rows);
  a_missing_row(world, many_rows);
}

/// As many rows as there should be.
SLUICE_BEHAVIOUR(rows, one_twice_instead_of_another_is_named_everywhere) {
  const std::string path = world.path("instead.h5");
  const auto spoil = [](Rank&, std::vector<std::uint64_t>& ids) {
    std::replace(ids.begin(), ids.end(), std::uint64_t{17}, std::uint64_t{16});
  };
  const auto caught = put_spoiled(world, path, many_rows, spoil);
  expect_same_error(caught, Code::duplicate_row, {"atoms/x", "row 16", path});
}

void an_index_outside(World& world, std::uint64_t rows) {
  const std::string path = world.path("outside" + std::to_string(rows) + ".h5");
  const auto spoil = [rows](Rank& rank, std::vector<std::uint64_t>& ids) {
    if (rank.rank() + 1 == rank.ranks()) {
      ids.push_back(rows);
    }
  };
  const std::string count = std::to_string(rows);
  expect_same_error(put_spoiled(world, path, rows, spoil), Code::out_of_bounds,
                    {"atoms/x", "row " + count + " of " + count, path});
}

SLUICE_BEHAVIOUR(rows, an_index_outside_is_named_everywhere) {
  an_index_outside(world, few_rows);
  an_index_outside(world, many_rows);
}

/// Marks of a failed step are not used for rows of the next one.
SLUICE_BEHAVIOUR(rows, a_step_after_a_failed_one_holds_its_own) {
  const std::string path = world.path("after.h5");
  const Shape shape = {many_rows, 2};
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("v", shape, {.steps = true});
    const auto ids =
        my_rows(many_rows, rank, 3, [](std::uint64_t row) { return static_cast<int>(row); });
    const std::uint64_t outside = many_rows;
    for (std::uint64_t s = 0; s < 3; ++s) {
      const Array<double> values = row_values<double>(s, shape, ids);
      Step step = out.begin_step();
      step.put_rows(v, ids.data(), ids.size(), values.data());
      if (s == 1) {
        step.put_rows(v, &outside, rank.is(0) ? 1 : 0, values.data());
        EXPECT_THROW(step.end(), Error);
      } else {
        step.end();
      }
    }
    out.close();
    File in = rank.open(path, Mode::read);
    EXPECT_EQ(in.steps(), 2u);
    expect_values<double>(in, "v", 0, shape, whole_box(shape), 0);
    expect_values<double>(in, "v", 2, shape, whole_box(shape), 1);
  });
}

SLUICE_BEHAVIOUR(rows, getting_an_index_outside_is_an_error_everywhere) {
  const std::string path = world.path("v.h5");  // also the variable's name, where it has none
  write_rows<float>(world, path, {10, 2}, true,
                    [](std::uint64_t row) { return static_cast<int>(row); });
  expect_same_error(world.run_catching([&](Rank& rank) {
    File in = rank.open(path, Mode::read);
    const std::uint64_t id = rank.is(1) ? 10 : 3;
    float got[2];
    in.get_rows(in.find("v"), &id, 1, got);
  }),
                    Code::out_of_bounds, {"v", "row 10 of 10", path});
}

SLUICE_BEHAVIOUR(rows, and_blocks_of_one_variable_in_one_step_are_refused) {
  const std::string path = world.path("both.h5");
  expect_same_error(world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("v", {2}, {.steps = true});
    const double values[2] = {1, 2};
    const std::uint64_t ids[2] = {0, 1};
    Step step = out.begin_step();
    if (rank.is(0)) {
      step.put(v, values, {.start = {0}, .count = {1}});
    }
    if (rank.is(1)) {
      step.put_rows(v, ids + 1, 1, values);
    }
    step.end();
  }),
                    Code::invalid_argument, {"v", "blocks and rows", path});
}

}  // namespace
}  // namespace sluice::test::rows
