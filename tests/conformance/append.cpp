// Appending to an existing file.
#include <cmath>

#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::append {
namespace {

const Shape shape = {12, 5};

StepOptions time_of(const World& world, std::uint64_t step) {
  return world.format().times ? StepOptions{.time = 0.5 * static_cast<double>(step)}
                              : StepOptions{};
}

VariableOptions moving(const World& world) {
  return {.steps = true, .unit = world.format().attributes ? "m" : ""};
}

void put_steps(const World& world, File& out, Variable v, const Rank& rank, std::uint64_t first,
               std::uint64_t count) {
  for (std::uint64_t s = first; s < first + count; ++s) {
    Giver<double> giver;
    Step step = out.begin_step(time_of(world, s));
    for (const auto& box : dealt_to(rank.rank(), rank.ranks(), shape, s)) {
      giver.put(step, v, s, shape, box);
    }
    step.end();
  }
}

void make_file(World& world, const std::string& path, std::uint64_t steps) {
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("g/v", shape, moving(world));
    Giver<float> giver;
    if (world.format().many) {
      giver.put(out, out.define<float>("fixed", shape), 77, shape,
                slab(shape, rank.rank(), rank.ranks()));
    }
    put_steps(world, out, v, rank, 0, steps);
    out.close();
  });
}

void expect_file(World& world, const std::string& path, std::uint64_t steps, int ranks) {
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        ASSERT_EQ(in.steps(), steps);
        for (std::uint64_t s = 0; s < steps; ++s) {
          expect_values<double>(in, "g/v", s, shape, whole_box(shape), s);
          if (world.format().times) {
            EXPECT_EQ(in.time(s), 0.5 * static_cast<double>(s));
          }
        }
        if (world.has_time_variable()) {
          std::vector<double> times(steps);
          in.get(in.find("time"), times.data());
          for (std::uint64_t s = 0; s < steps; ++s) {
            EXPECT_EQ(times[s], 0.5 * static_cast<double>(s)) << s;
          }
        }
        if (world.format().many) {
          expect_values<float>(in, "fixed", 77, shape, whole_box(shape));
        }
        if (world.format().attributes) {
          EXPECT_EQ(std::get<std::string>(in.attribute("g/v", "units")), "m");
        }
      },
      ranks);
}

SLUICE_BEHAVIOUR(append, new_steps_on_another_number_of_ranks) {
  const std::string path = world.path("steps.h5");
  make_file(world, path, 2);
  world.run(
      [&](Rank& rank) {
        File out = rank.open(path, Mode::append);
        EXPECT_EQ(out.steps(), 2u);
        put_steps(world, out, out.find("g/v"), rank, 2, 1);
        out.close();
      },
      world.other_ranks());
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::append);
    // A restarted program finds it by defining it again in the same way.
    const Variable v = out.define<double>("g/v", shape, moving(world));
    put_steps(world, out, v, rank, 3, 2);
    out.close();
  });
  expect_file(world, path, 5, world.other_ranks());
}

SLUICE_BEHAVIOUR(append, new_variables_and_attributes) {
  const std::string path = world.path("variables.h5");
  make_file(world, path, 1);
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::append);
    const Variable w = out.define<float>("g/w", {4}, {.steps = true});
    const Variable late = out.define<double>("late", shape);
    out.set_attribute("g", "note", std::string("appended"));
    out.set_attribute("g/v", "checked", true);
    Giver<double> giver;
    giver.put(out, late, 5, shape, slab(shape, rank.rank(), rank.ranks()));
    Giver<float> small;
    Giver<double> more;
    Step step = out.begin_step({.time = 0.5});
    small.put(step, w, 6, {4}, slab({4}, rank.rank(), rank.ranks()));
    more.put(step, out.find("g/v"), 1, shape, slab(shape, rank.rank(), rank.ranks()));
    step.end();
    out.close();
  });
  expect_file(world, path, 2, world.other_ranks());
  world.run([&](Rank& rank) {
    File in = rank.open(path, Mode::read);
    expect_values<float>(in, "g/w", 6, {4}, whole_box({4}), 1);
    expect_values<double>(in, "late", 5, shape, whole_box(shape));
    EXPECT_EQ(std::get<std::string>(in.attribute("g", "note")), "appended");
    EXPECT_EQ(std::get<bool>(in.attribute("g/v", "checked")), true);
  });
}

SLUICE_BEHAVIOUR(append, opening_and_closing_changes_nothing) {
  const std::string path = world.path("same.h5");
  make_file(world, path, 2);
  const auto before = world.bytes_of(path);
  world.run([&](Rank& rank) { rank.open(path, Mode::append).close(); });
  EXPECT_TRUE(world.bytes_of(path) == before);
  expect_file(world, path, 2, world.other_ranks());
}

SLUICE_BEHAVIOUR(append, what_a_dead_run_left_behind_the_end_does_not_matter) {
  const std::string path = world.path("tail.h5");
  make_file(world, path, 2);
  world.once([&] {
    const auto file = world.storage().open(path, storage::Access::read_write);
    const std::vector<std::byte> junk(100000, std::byte{0x5a});
    file->write(file->size(), junk);
  });
  expect_file(world, path, 2, 0);
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::append);
    const bool has_holes = world.format().many;
    const Variable holes = has_holes
                               ? out.define<float>("holes", shape, {.steps = true, .partial = true})
                               : Variable();
    Giver<float> giver;
    Giver<double> more;
    Step step = out.begin_step(time_of(world, 2));
    more.put(step, out.find("g/v"), 2, shape, slab(shape, rank.rank(), rank.ranks()));
    if (rank.is(0) && has_holes) {
      giver.put(step, holes, 3, shape, {{0, 0}, {1, 1}});
    }
    step.end();
    out.close();
  });
  expect_file(world, path, 3, world.other_ranks());
  if (!world.format().many) {
    return;
  }
  world.run([&](Rank& rank) {
    File in = rank.open(path, Mode::read);
    float got[60];
    in.get(in.find("holes"), got, {}, 2);
    EXPECT_EQ(std::count(got, got + 60, 0.0f), 59);  // nothing of the junk
  });
}

SLUICE_BEHAVIOUR(append, another_shape_or_type_is_refused_everywhere) {
  const std::string path = world.path("wrong.h5");
  make_file(world, path, 1);
  auto define_again = [&](const Type& type, const Shape& other, bool steps, int by) {
    return world.run_catching([&, type, other, steps, by](Rank& rank) {
      File out = rank.open(path, Mode::append);
      if (by < 0 || rank.is(by)) {
        out.define_raw("g/v", type, other, {.steps = steps});
      }
      out.close();
    });
  };
  // By one rank: the others receive it from that one.
  expect_same_error(define_again(type_of<double>(), {12, 6}, true, 1), Code::exists,
                    {"g/v", path, "rank " + std::to_string(1 % world.ranks())});
  for (const auto& caught : {define_again(type_of<double>(), {12, 6}, true, -1),
                             define_again(type_of<float>(), shape, true, -1),
                             define_again(type_of<double>(), shape, false, -1)}) {
    for (const Caught& each : caught) {
      EXPECT_EQ(each.code, Code::exists) << each.text;
    }
  }
  expect_file(world, path, 1, world.other_ranks());
}

SLUICE_BEHAVIOUR(append, committed_data_is_not_overwritten) {
  const std::string path = world.path("fixed.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    Giver<float> giver;
    giver.put(out, out.define<float>("fixed", shape), 77, shape,
              slab(shape, rank.rank(), rank.ranks()));
    if (world.format().many) {
      put_steps(world, out, out.define<double>("g/v", shape, moving(world)), rank, 0, 1);
    }
    out.close();
  });
  expect_same_error(world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::append);
    Giver<float> giver;
    giver.put(out, out.find("fixed"), 1, shape, slab(shape, rank.rank(), rank.ranks()));
    out.flush();
  }),
                    Code::unsupported, {"fixed", "steps", path});
  if (!world.has_time_variable() || world.has_parts()) {  // the times of a set are in its index
    world.run([&](Rank& rank) {
      File in = rank.open(path, Mode::read);
      expect_values<float>(in, "fixed", 77, shape, whole_box(shape));
    });
    return;
  }
  expect_same_error(world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::append);
    const double time = 3;
    if (rank.is(0)) {
      out.put(out.find("time"), &time, {.start = {0}, .count = {1}});
    }
    out.flush();
  }),
                    Code::unsupported, {"time", path});
  expect_file(world, path, 1, world.other_ranks());
}

/// By the run that defined them, and by those that only appended steps.
SLUICE_BEHAVIOUR(append, variables_that_nobody_had_put) {
  const std::string path = world.path("later.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    out.define<float>("bare", shape);
    out.define<double>("filled", shape, {.fill = -2});
    put_steps(world, out, out.define<double>("g/v", shape, moving(world)), rank, 0, 1);
    out.close();
  });
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::append);
    put_steps(world, out, out.find("g/v"), rank, 1, 1);
    out.close();
  });
  world.run([&](Rank& rank) {
    File in = rank.open(path, Mode::read);
    std::vector<float> bare(shape[0] * shape[1], 1);
    std::vector<double> filled(bare.size());
    in.get(in.find("bare"), bare.data());
    in.get(in.find("filled"), filled.data());
    EXPECT_EQ(bare, std::vector<float>(bare.size(), 0));
    EXPECT_EQ(filled, std::vector<double>(bare.size(), -2));
  });
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::append);
    const model::Box part = slab(shape, rank.rank(), rank.ranks());
    Giver<float> bare;
    bare.put(out, out.find("bare"), 5, shape, part);
    Giver<double> filled;
    filled.put(out, out.find("filled"), 6, shape, part);
    out.close();
  });
  world.run([&](Rank& rank) {
    File in = rank.open(path, Mode::read);
    ASSERT_EQ(in.steps(), 2U);
    for (std::uint64_t s = 0; s < 2; ++s) {
      expect_values<double>(in, "g/v", s, shape, whole_box(shape), s);
    }
    expect_values<float>(in, "bare", 5, shape, whole_box(shape));
    expect_values<double>(in, "filled", 6, shape, whole_box(shape));
  });
}

SLUICE_BEHAVIOUR(append, a_missing_file_is_an_error_everywhere) {
  const std::string path = world.path("absent.h5");
  for (const Mode mode : {Mode::append, Mode::read}) {
    expect_same_error(world.run_catching([&](Rank& rank) { rank.open(path, mode); }),
                      Code::not_found, {path});
  }
  EXPECT_FALSE(world.exists(path));
}

}  // namespace
}  // namespace sluice::test::append
