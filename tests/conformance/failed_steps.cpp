// What was put before a step that fails is of no step.
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::failed_steps {
namespace {

const Shape shape = {10, 3};

void put_step(File& out, Variable v, const Rank& rank, std::uint64_t key) {
  Giver<float> giver;
  Step step = out.begin_step();
  giver.put(step, v, key, shape, slab(shape, rank.rank(), rank.ranks()));
  step.end();
}

enum class Failure : std::uint8_t { abandoned, abandoned_by_one, wrong_put, hole };

/// A step that fails for every rank.
void fail_step(File& out, Variable v, Rank& rank, Failure failure) {
  Giver<float> giver;
  Step step = out.begin_step();
  if (failure != Failure::hole || !rank.is(1)) {
    giver.put(step, v, 66, shape, slab(shape, rank.rank(), rank.ranks()));
  }
  if (failure == Failure::abandoned || (failure == Failure::abandoned_by_one && rank.is(1))) {
    step.abandon("not this one");
    return;
  }
  if (failure == Failure::wrong_put && rank.is(1)) {
    const float value = 0;
    EXPECT_THROW(step.put(v, &value, {.start = {99, 0}, .count = {1, 1}}), Error);
  }
  EXPECT_THROW(step.end(), Error);
}

SLUICE_BEHAVIOUR(failed_steps, leave_what_was_put_before) {
  if (!world.format().many) {
    return;
  }
  for (const Failure failure :
       {Failure::abandoned, Failure::abandoned_by_one, Failure::wrong_put, Failure::hole}) {
    const std::string path = world.path("before" + std::to_string(static_cast<int>(failure)));
    world.run([&](Rank& rank) {
      File out = rank.open(path, Mode::write);
      const auto ranks = static_cast<std::uint64_t>(rank.ranks());
      const auto number = static_cast<std::uint64_t>(rank.rank());
      const Variable field = out.define<double>("field", {300, 40});
      const Variable small = out.define<std::int32_t>("small", {ranks});
      const Variable rows = out.define<double>("rows", {ranks});
      const Variable again = out.define<double>("again", shape);
      const Variable v = out.define<float>("v", shape, {.steps = true});
      Giver<double> giver;
      Giver<double> other;
      giver.put(out, field, 5, {300, 40}, slab({300, 40}, rank.rank(), rank.ranks()));
      other.put(out, again, 6, shape, slab(shape, rank.rank(), rank.ranks()));
      const std::int32_t value = 10 * rank.rank();
      out.put(small, &value, {.start = {number}, .count = {1}});
      const double row = value_at<double>(7, number);
      out.put_rows(rows, &number, 1, &row);
      fail_step(out, v, rank, failure);
      EXPECT_EQ(out.steps(), 0u);
      other.put(out, again, 8, shape, slab(shape, rank.rank(), rank.ranks()));
      fail_step(out, v, rank, failure);
      put_step(out, v, rank, 0);
      out.close();
    });
    world.run(
        [&](Rank& rank) {
          File in = rank.open(path, Mode::read);
          const auto ranks = static_cast<std::uint64_t>(world.ranks());
          ASSERT_EQ(in.steps(), 1u);
          expect_values<float>(in, "v", 0, shape, whole_box(shape), 0);
          expect_values<double>(in, "field", 5, {300, 40}, whole_box({300, 40}));
          expect_values<double>(in, "again", 8, shape, whole_box(shape));
          expect_values<double>(in, "rows", 7, {ranks}, whole_box({ranks}));
          std::vector<std::int32_t> small(ranks, -1);
          in.get(in.find("small"), small.data());
          for (std::size_t r = 0; r < ranks; ++r) {
            EXPECT_EQ(small[r], 10 * static_cast<std::int32_t>(r));
          }
        },
        world.other_ranks());
  }
}

// What cannot be committed without the step is not lost silently.
SLUICE_BEHAVIOUR(failed_steps, say_what_is_to_be_put_again) {
  if (!world.format().many) {
    return;
  }
  const std::string path = world.path("wrong.h5");
  const auto caught = world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable x = out.define<double>("x", shape);
    const Variable v = out.define<float>("v", shape, {.steps = true, .partial = true});
    Giver<double> giver;
    model::Box own = slab(shape, rank.rank(), rank.ranks());
    if (rank.is(1) && own.count[0] != 0) {
      --own.count[0];  // a row that no rank puts
    }
    giver.put(out, x, 5, shape, own);
    Step step = out.begin_step();
    std::string met;
    try {
      step.abandon("not this one");
    } catch (const Error& error) {
      met = error.what();
    }
    EXPECT_NE(met.find("not this one; what was put before the step is not in the file either"),
              std::string::npos)
        << met;
    giver.put(out, x, 6, shape, slab(shape, rank.rank(), rank.ranks()));
    put_step(out, v, rank, 0);
    // A value that does not fit.
    const Variable narrow = out.define<float>("narrow", {1});
    const std::vector<double> large{1e300};
    if (rank.is(0)) {
      out.put(narrow, large.data(), {.start = {0}, .count = {1}});
    }
    EXPECT_THROW(put_step(out, v, rank, 1), Error);
    put_step(out, v, rank, 1);
    out.close();
    File in = rank.open(path, Mode::read);
    expect_values<double>(in, "x", 6, shape, whole_box(shape));
    EXPECT_EQ(in.steps(), 2u);
  });
  expect_same_error(caught, Code::ok);
}

}  // namespace
}  // namespace sluice::test::failed_steps
