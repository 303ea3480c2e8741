// Steps: times, calls between them, readers beside the writer, abandoned steps.
#include <cmath>
#include <stdexcept>

#include "support/files.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::steps {
namespace {

const Shape shape = {10, 3};

Ticket put_step(File& out, Variable v, const Rank& rank, std::uint64_t key,
                const StepOptions& options = {}) {
  Giver<float> giver;
  Step step = out.begin_step(options);
  giver.put(step, v, key, shape, slab(shape, rank.rank(), rank.ranks()));
  return step.end();
}

SLUICE_BEHAVIOUR(steps, many) {
  const std::string path = world.path("many.h5");
  constexpr std::uint64_t count = 70;  // more than one chunk of the log of commits
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<float>("v", shape, {.steps = true});
    for (std::uint64_t s = 0; s < count; ++s) {
      EXPECT_EQ(out.steps(), s);
      put_step(out, v, rank, s);
    }
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        EXPECT_EQ(in.steps(), count);
        for (std::uint64_t s = 0; s < count; s += 23) {
          expect_values<float>(in, "v", s, shape, whole_box(shape), s);
        }
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(steps, times_where_given) {
  const std::string path = world.path("times.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<float>("v", shape, {.steps = true});
    put_step(out, v, rank, 0);  // without a time
    put_step(out, v, rank, 1, {.time = -0.5});
    put_step(out, v, rank, 2);
    put_step(out, v, rank, 3, {.time = 1e300});
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        EXPECT_TRUE(std::isnan(in.time(0)));
        EXPECT_EQ(in.time(1), -0.5);
        EXPECT_TRUE(std::isnan(in.time(2)));
        EXPECT_EQ(in.time(3), 1e300);
        EXPECT_THROW(in.time(4), Error);
        if (!world.has_time_variable()) {
          return;
        }
        // The dataset that other tools see.
        double times[4];
        in.get(in.find("time"), times);
        EXPECT_TRUE(std::isnan(times[0]));
        EXPECT_EQ(times[1], -0.5);
        EXPECT_TRUE(std::isnan(times[2]));
        EXPECT_EQ(times[3], 1e300);
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(steps, a_variable_of_the_callers_may_be_called_time) {
  const std::string path = world.path("own_time.h5");
  world.run([&](Rank& rank) {
    for (const Mode mode : {Mode::write, Mode::append}) {
      File out = rank.open(path, mode);
      const Variable time = out.define<double>("time", {}, {.steps = true});
      for (std::uint64_t s = out.steps(), end = s + 2; s < end; ++s) {
        const double value = 100.0 + static_cast<double>(s);
        Step step = out.begin_step({.time = static_cast<double>(s)});
        if (rank.is(0)) {
          step.put(time, &value);
        }
        step.end();
      }
      out.close();
    }
    File in = rank.open(path, Mode::read);
    ASSERT_EQ(in.steps(), 4u);
    for (std::uint64_t s = 0; s < 4; ++s) {
      double got = 0;
      in.get(in.find("time"), &got, {}, s);
      EXPECT_EQ(got, 100.0 + static_cast<double>(s));
      EXPECT_EQ(in.time(s), static_cast<double>(s));
    }
  });
}

SLUICE_BEHAVIOUR(steps, fixed_variables_come_before_between_and_in_them) {
  const std::string path = world.path("fixed.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const model::Box box = slab(shape, rank.rank(), rank.ranks());
    Giver<float> giver;
    giver.put(out, out.define<float>("before", shape), 1, shape, box);
    out.flush();
    const Variable v = out.define<float>("v", shape, {.steps = true});
    put_step(out, v, rank, 2);
    giver.put(out, out.define<float>("between", shape), 3, shape, box);
    const Variable inside = out.define<float>("inside", shape);
    Step step = out.begin_step();
    giver.put(step, v, 4, shape, box);
    giver.put(step, inside, 5, shape, box);
    step.end();
    giver.put(out, out.define<float>("after", shape), 6, shape, box);
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        const model::Box all = whole_box(shape);
        expect_values<float>(in, "before", 1, shape, all);
        expect_values<float>(in, "v", 2, shape, all, 0);
        expect_values<float>(in, "between", 3, shape, all);
        expect_values<float>(in, "v", 4, shape, all, 1);
        expect_values<float>(in, "inside", 5, shape, all);
        expect_values<float>(in, "after", 6, shape, all);
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(steps, a_file_of_definitions_only) {
  const std::string path = world.path("nothing.h5");
  world.run([&](Rank& rank) {
    Files out(world, rank, path, Mode::write);
    out.of("moving").define<float>("moving", shape, {.steps = true});
    out.of("fixed").define<double>("fixed", {3});
    out.close();
    Files files(world, rank, path, Mode::read);
    File& in = files.of("moving");
    EXPECT_EQ(in.steps(), 0u);
    EXPECT_EQ(world.count_variables(in), world.format().many ? 2u : 1u);
    EXPECT_EQ(in.info(in.find("moving")).shape, shape);
    EXPECT_TRUE(in.info(in.find("moving")).steps);
    File& fixed = files.of("fixed");
    EXPECT_EQ(fixed.info(fixed.find("fixed")).shape, Shape{3});
  });
}

SLUICE_BEHAVIOUR(steps, a_file_without_definitions) {
  world.run([&](Rank& rank) {
    rank.open(world.path("none.h5"), Mode::write).close();
    EXPECT_EQ(rank.open(world.path("none.h5"), Mode::read).variables().size(), 0u);
  });
}

SLUICE_BEHAVIOUR(steps, variables_defined_later) {
  const std::string path = world.path("later.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable a = out.define<float>("a", shape, {.steps = true});
    put_step(out, a, rank, 0);
    const Variable b = out.define<float>("b", shape, {.steps = true});
    Giver<float> giver;
    Step step = out.begin_step();
    giver.put(step, a, 1, shape, slab(shape, rank.rank(), rank.ranks()));
    giver.put(step, b, 11, shape, slab(shape, rank.rank(), rank.ranks()));
    step.end();
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        expect_values<float>(in, "a", 1, shape, whole_box(shape), 1);
        expect_values<float>(in, "b", 11, shape, whole_box(shape), 1);
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(steps, readers_see_each_step_as_soon_as_it_is_there) {
  const std::string path = world.path("live.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<float>("v", shape, {.steps = true});
    for (std::uint64_t s = 0; s < 4; ++s) {
      put_step(out, v, rank, s).wait();
      rank.transport().barrier();
      File in = rank.open(path, Mode::read);
      EXPECT_EQ(in.steps(), s + 1);
      for (std::uint64_t old = 0; old <= s; ++old) {
        expect_values<float>(in, "v", old, shape, whole_box(shape), old);
      }
      rank.transport().barrier();
    }
    out.close();
  });
}

SLUICE_BEHAVIOUR(steps, tickets_say_what_was_promised) {
  const std::string path = world.path("tickets.h5");
  for (const Durability durability : world.durabilities()) {
    const bool step_is = durability == Durability::step;
    world.run([&, durability, step_is](Rank& rank) {
      Options options = rank.options();
      options.durability = durability;
      File out = rank.open(path, Mode::write, options);
      const Variable v = out.define<float>("v", shape, {.steps = true});
      for (std::uint64_t s = 0; s < 2; ++s) {
        Giver<float> giver;
        Step step = out.begin_step();
        giver.put(step, v, s, shape, slab(shape, rank.rank(), rank.ranks()));
        const Ticket ticket = step.end();
        ticket.wait();
        EXPECT_EQ(ticket.step(), s);
        EXPECT_EQ(ticket.durable(), step_is);
      }
      out.close();
    });
    world.run([&](Rank& rank) {
      File in = rank.open(path, Mode::read);
      expect_values<float>(in, "v", 1, shape, whole_box(shape), 1);
    });
  }
}

SLUICE_BEHAVIOUR(steps, an_exception_in_one_rank_fails_the_step_everywhere) {
  const std::string path = world.path("exception.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<float>("v", shape, {.steps = true});
    put_step(out, v, rank, 0);
    const bool is_thrower = rank.is(2);
    std::string met;
    try {
      Giver<float> giver;
      Step step = out.begin_step();
      giver.put(step, v, 66, shape, slab(shape, rank.rank(), rank.ranks()));
      if (is_thrower) {
        throw std::runtime_error("the simulation diverged");
      }
      step.end();
    } catch (const Error& error) {
      met = error.what();
      EXPECT_EQ(error.code(), Code::wrong_state);
      EXPECT_EQ(error.rank(), 2 % rank.ranks());
    } catch (const std::runtime_error&) {
      met = "own";
    }
    if (is_thrower) {
      EXPECT_EQ(met, "own");
    } else {
      EXPECT_NE(met.find("abandoned"), std::string::npos) << met;
    }
    // The file continues with the next step.
    EXPECT_EQ(out.steps(), 1u);
    put_step(out, v, rank, 1);
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        ASSERT_EQ(in.steps(), 2u);
        expect_values<float>(in, "v", 0, shape, whole_box(shape), 0);
        expect_values<float>(in, "v", 1, shape, whole_box(shape), 1);
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(steps, abandoned_by_all_is_as_if_never_begun) {
  const std::string path = world.path("abandoned.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<float>("v", shape, {.steps = true, .partial = true});
    for (std::uint64_t s = 0; s < 2; ++s) {
      put_step(out, v, rank, s);
      Giver<float> giver;
      Step step = out.begin_step();
      giver.put(step, v, 66, shape, slab(shape, rank.rank(), rank.ranks()));
      step.abandon("not this one");
      EXPECT_THROW(step.end(), Error);
    }
    out.close();
    File in = rank.open(path, Mode::read);
    ASSERT_EQ(in.steps(), 2u);
    expect_values<float>(in, "v", 1, shape, whole_box(shape), 1);
  });
}

SLUICE_BEHAVIOUR(steps, abandoned_by_one_rank_fails_for_the_others) {
  const auto caught = world.run_catching([&](Rank& rank) {
    File out = rank.open(world.path("by_one.h5"), Mode::write);
    const Variable v = out.define<float>("v", shape, {.steps = true});
    put_step(out, v, rank, 0);
    Step step = out.begin_step();
    if (rank.is(1)) {
      step.abandon("the solver diverged");
      throw Error(Code::internal, "as meant");
    }
    step.end();
  });
  for (std::size_t r = 0; r < caught.size(); ++r) {
    const bool is_own = r == 1 % caught.size();
    EXPECT_EQ(caught[r].code, is_own ? Code::internal : Code::wrong_state) << caught[r].text;
    EXPECT_NE(caught[r].text.find(is_own ? "as meant" : "abandoned: the solver diverged"),
              std::string::npos)
        << caught[r].text;
  }
}

// On every rank, or on one: otherwise the run would lose its steps silently.
SLUICE_BEHAVIOUR(steps, destroyed_without_end_make_close_fail) {
  for (const bool on_all : {true, false}) {
    const std::string path = world.path(on_all ? "unended.h5" : "unended_by_one.h5");
    const auto caught = world.run_catching([&](Rank& rank) {
      File out = rank.open(path, Mode::write);
      const Variable v = out.define<float>("v", shape, {.steps = true});
      put_step(out, v, rank, 0);
      for (int left_out = 0; left_out < 2; ++left_out) {
        Giver<float> giver;
        Step step = out.begin_step();
        giver.put(step, v, 66, shape, slab(shape, rank.rank(), rank.ranks()));
        if (!on_all && !rank.is(1)) {
          EXPECT_THROW(step.end(), Error);
        }
      }
      put_step(out, v, rank, 1);
      out.close();
    });
    expect_same_error(caught, Code::wrong_state, {"step 1", "without end()", "abandon()"});
    EXPECT_EQ(caught.front().rank, on_all ? 0 : 1 % world.ranks());
    world.run([&](Rank& rank) {  // it was closed all the same
      File in = rank.open(path, Mode::read);
      ASSERT_EQ(in.steps(), 2u);
      expect_values<float>(in, "v", 1, shape, whole_box(shape), 1);
      EXPECT_FALSE(world.exists(path + ".sluice-journal"));
    });
  }
}

SLUICE_BEHAVIOUR(steps, a_failed_one_leaves_nothing_in_the_holes_of_the_next) {
  const std::string path = world.path("holes.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<float>("v", shape, {.steps = true, .partial = true});
    const Variable narrow = out.define<std::int8_t>("narrow", {}, {.steps = true});
    for (const int value : {1, 1000, 2}) {
      Giver<float> giver;
      Step step = out.begin_step();
      if (value == 1000) {
        giver.put(step, v, 66, shape, slab(shape, rank.rank(), rank.ranks()));
      }
      if (rank.is(1)) {
        step.put(narrow, &value);
      }
      if (value == 1000) {
        EXPECT_THROW(step.end(), Error);  // after the values of `v` were written
      } else {
        if (rank.is(0)) {
          giver.put(step, v, 7, shape, {{4, 1}, {1, 1}});
        }
        step.end();
      }
    }
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        ASSERT_EQ(in.steps(), 2u);
        for (std::uint64_t s = 0; s < 2; ++s) {
          float got[30];
          in.get(in.find("v"), got, {}, s);
          EXPECT_EQ(got[13], value_at<float>(7, 13));
          EXPECT_EQ(std::count(got, got + 30, 0.0f), 29);
        }
      },
      world.other_ranks());
}

}  // namespace
}  // namespace sluice::test::steps
