// Mistakes of a caller: the code, the contents of the text, and that every rank gets the same.
#include <atomic>
#include <cmath>
#include <complex>

#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::errors {
namespace {

const Shape shape = {12, 3};
const double zeros[36] = {};

template <class Call>
Code code_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::ok;
}

/// One step of `spins` with the box of each rank.
std::vector<Caught> put_boxes(World& world, const std::string& path,
                              const std::function<model::Box(const Rank&)>& box_of) {
  return world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("lattice/spins", shape, {.steps = true});
    Step step = out.begin_step();
    step.put(v, zeros, selection_of(box_of(rank)));
    step.end();
    out.close();
  });
}

SLUICE_BEHAVIOUR(errors, a_block_outside_its_shape) {
  const std::string path = world.path("outside.h5");
  const auto caught = put_boxes(world, path, [](const Rank& rank) {
    return rank.rank() + 1 == rank.ranks() ? model::Box{{10, 1}, {3, 2}}
                                           : model::Box{{0, 0}, {0, 0}};
  });
  expect_same_error(caught, Code::out_of_bounds,
                    {"lattice/spins", "(10, 1)", "(3, 2)", "(12, 3)", path});
  EXPECT_FALSE(world.exists(path));
}

SLUICE_BEHAVIOUR(errors, a_block_of_other_dimensions) {
  const auto caught = put_boxes(world, world.path("dimensions.h5"), [](const Rank&) {
    return model::Box{{0}, {12}};
  });
  expect_same_error({caught[0]}, Code::out_of_bounds, {"lattice/spins", "(12, 3)"});
}

SLUICE_BEHAVIOUR(errors, a_hole) {
  const std::string path = world.path("hole.h5");
  const auto caught = put_boxes(world, path, [](const Rank& rank) {
    model::Box box = slab(shape, rank.rank(), rank.ranks());
    if (rank.rank() == 0) {
      --box.count[0];
    }
    return box;
  });
  const int row = 12 / world.ranks() - 1;
  expect_same_error(caught, Code::hole,
                    {"lattice/spins", "(" + std::to_string(row) + ", 0)", "(1, 3)", path});
}

SLUICE_BEHAVIOUR(errors, an_overlap_of_two_blocks) {
  const std::string path = world.path("overlap.h5");
  const auto caught = world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("spins", shape, {.steps = true});
    Step step = out.begin_step();
    if (rank.is(0)) {
      step.put(v, zeros, {.start = {0, 0}, .count = {7, 3}});
    }
    if (rank.is(rank.ranks() - 1)) {
      step.put(v, zeros, {.start = {6, 0}, .count = {6, 3}});
    }
    step.end();
  });
  expect_same_error(
      caught, Code::overlap,
      {"spins", "rank 0", "rank " + std::to_string(world.ranks() - 1), "(6, 0)", "(1, 3)", path});
}

SLUICE_BEHAVIOUR(errors, a_variable_left_out_of_a_step) {
  const std::string path = world.path("left_out.h5");
  expect_same_error(world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    out.define<double>("a/forgotten", shape, {.steps = true});
    out.begin_step().end();
  }),
                    Code::hole, {"a/forgotten", "step 0", path});
}

SLUICE_BEHAVIOUR(errors, bad_names) {
  const std::string path = world.path("names.h5");
  for (const char* name : {"../up", "a/../b", "/absolute", "", "a//b", "a/", ".", "sluice/x"}) {
    const auto caught = world.run_catching([&](Rank& rank) {
      File out = rank.open(path, Mode::write);
      out.define<double>(name, shape);
    });
    for (const Caught& each : caught) {
      EXPECT_EQ(each.code, Code::bad_name) << name << ": " << each.text;
      EXPECT_NE(each.text.find(name), std::string::npos) << each.text;
      EXPECT_NE(each.text.find(path), std::string::npos) << each.text;
    }
  }
  const auto caught = world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    out.define<double>(std::string("nul\0inside", 10), shape);
  });
  EXPECT_EQ(caught[0].code, Code::bad_name) << caught[0].text;
  for (const char* owner : {"../up", "/absolute", "sluice"}) {
    const auto of_owner = world.run_catching([&](Rank& rank) {
      File out = rank.open(path, Mode::write);
      out.set_attribute(owner, "x", true);
    });
    EXPECT_EQ(of_owner[0].code, Code::bad_name) << owner << ": " << of_owner[0].text;
  }
  EXPECT_FALSE(world.exists(path));
}

SLUICE_BEHAVIOUR(errors, a_name_on_the_way_to_another) {
  const auto caught = world.run_catching([&](Rank& rank) {
    File out = rank.open(world.path("clash.h5"), Mode::write);
    out.define<double>("a/b", shape);
    out.define<double>("a", shape);
  });
  expect_same_error({caught[0]}, Code::bad_name, {"define a", "a/b"});
}

SLUICE_BEHAVIOUR(errors, a_bad_definition_by_one_rank_reaches_all) {
  const std::string path = world.path("one.h5");
  expect_same_error(world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    out.define<double>(rank.is(1) ? "a/../b" : "fine", shape);
    out.close();
  }),
                    Code::bad_name, {"a/../b", path});
  EXPECT_FALSE(world.exists(path));
}

SLUICE_BEHAVIOUR(errors, a_local_failure_outside_steps_fails_the_next_commit_once) {
  const std::string path = world.path("outside_steps.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("v", shape, {.steps = true});
    if (rank.is(1)) {
      EXPECT_EQ(code_of([&] { out.define<double>("v", {12, 4}, {.steps = true}); }), Code::exists);
    }
    for (const Code expected : {Code::exists, Code::ok}) {
      Step step = out.begin_step();
      step.put(v, zeros, selection_of(slab(shape, rank.rank(), rank.ranks())));
      EXPECT_EQ(code_of([&] { step.end(); }), expected);
    }
    EXPECT_EQ(out.steps(), 1U);
    out.close();
  });
}

SLUICE_BEHAVIOUR(errors, definitions_that_cannot_be) {
  struct Bad {
    Shape shape;
    VariableOptions options;
  };
  const double nan_value = std::nan("");
  const std::vector<Bad> all = {
      {{1, 1, 1, 1, 1, 1, 1, 1}, {.steps = true}},  // 8 dimensions and the step
      {{1ULL << 40, 1ULL << 40}, {}},               // more than 64 bits of bytes
      {{4, 4}, {.steps = true, .chunk = {4}}},      // a chunk of other dimensions
      {{4, 4}, {.steps = true, .chunk = {4, 0}}},   // of no elements
      {{4, 4}, {.chunk = {4, 4}}},                  // of a fixed variable
      {{4}, {.partial = true, .fill = nan_value}},  // an integer that is filled with NaN
      {{4}, {.partial = true, .fill = 1e10}},       // or with what does not fit
  };
  for (const Bad& bad : all) {
    const auto caught = world.run_catching([&](Rank& rank) {
      File out = rank.open(world.path("bad.h5"), Mode::write);
      out.define<std::int32_t>("v", bad.shape, bad.options);
    });
    EXPECT_TRUE(caught[0].code == Code::invalid_argument || caught[0].code == Code::out_of_bounds)
        << dims_of(bad.shape).text() << ": " << caught[0].text;
    EXPECT_NE(caught[0].text.find("define v"), std::string::npos) << caught[0].text;
  }
}

SLUICE_BEHAVIOUR(errors, definitions_that_cannot_be_fail_the_commit) {
  const std::vector<std::pair<Shape, VariableOptions>> all = {
      {{4}, {.partial = true, .fill = 1e10}},  // in an integer
      {{1, 1, 1, 1, 1, 1, 1, 1, 1}, {}},       // more dimensions than there are
      {{4}, {.chunk = {1, 1, 1, 1, 1, 1, 1, 1, 1}}},
  };
  for (const auto& [bad, options] : all) {
    const auto caught = world.run_catching([&](Rank& rank) {
      File out = rank.open(world.path("refused.h5"), Mode::write);
      if (rank.is(1)) {
        EXPECT_EQ(code_of([&] { out.define<std::int32_t>("v", bad, options); }),
                  Code::invalid_argument);
      }
      out.flush();
    });
    expect_same_error(caught, Code::invalid_argument, {"refused.h5"});
  }
}

/// The lengths of a varying variable are one of their own, whose name is taken, or would be too
/// long; a unit that the format cannot hold.
SLUICE_BEHAVIOUR(errors, definitions_that_are_refused_leave_nothing) {
  if (!world.format().length_variable) {
    return;
  }
  const std::string path = world.path("lengths.h5");
  const std::string names[] = {"halo", std::string(252, 'n')};
  std::atomic<bool> is_refused{false};  // alike on all ranks
  const auto put_step = [](File& out, Variable v, const Rank& rank, std::uint64_t step) {
    Giver<double> giver;
    Step now = out.begin_step();
    giver.put(now, v, step, shape, slab(shape, rank.rank(), rank.ranks()));
    now.end();
  };
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("v", shape, {.steps = true});
    out.define<float>("halo_length", shape);
    put_step(out, v, rank, 0);
    for (const std::string& name : names) {
      EXPECT_NE(code_of([&] {
                  out.define<double>(name, shape,
                                     {.steps = true, .partial = true, .varying = true});
                }),
                Code::ok);
      EXPECT_NE(code_of([&] { out.flush(); }), Code::ok) << "a failure fails the next commit";
    }
    // Zarr has no text that is not UTF-8.
    const Code of_unit = code_of([&] {
      out.define<double>("unit", shape, {.steps = true, .unit = "\xb5m", .partial = true});
    });
    EXPECT_EQ(code_of([&] { out.flush(); }), of_unit);
    is_refused = of_unit != Code::ok;
    put_step(out, v, rank, 1);
    out.close();
  });
  world.run([&](Rank& rank) {
    File in = rank.open(path, Mode::read);
    ASSERT_EQ(in.steps(), 2U);
    expect_values<double>(in, "v", 1, shape, whole_box(shape), 1);
    for (const std::string& name : names) {
      EXPECT_EQ(code_of([&] { in.find(name); }), Code::not_found) << name;
    }
    EXPECT_EQ(code_of([&] { in.find("unit"); }), is_refused ? Code::not_found : Code::ok);
  });
}

SLUICE_BEHAVIOUR(errors, calls_in_the_wrong_state) {
  const std::string path = world.path("state.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("v", shape, {.steps = true});
    double got[36];
    EXPECT_EQ(code_of([&] { out.get(v, got); }), Code::wrong_state);
    EXPECT_EQ(code_of([&] { out.attribute("v", "units"); }), Code::wrong_state);
    EXPECT_EQ(code_of([&] { out.find("w"); }), Code::not_found);
    {
      Step step = out.begin_step();
      EXPECT_EQ(code_of([&] { out.flush(); }), Code::wrong_state);
      step.put(v, zeros, selection_of(slab(shape, rank.rank(), rank.ranks())));
      step.end();
      EXPECT_EQ(code_of([&] { step.end(); }), Code::wrong_state);
      EXPECT_EQ(code_of([&] { step.put(v, zeros); }), Code::wrong_state);
    }
    out.close();
    EXPECT_EQ(code_of([&] { out.close(); }), Code::wrong_state);
    EXPECT_EQ(code_of([&] { out.flush(); }), Code::wrong_state);
    EXPECT_EQ(code_of([&] { static_cast<void>(out.begin_step()); }), Code::wrong_state);
    EXPECT_EQ(code_of([&] { out.put(v, zeros); }), Code::wrong_state);
    EXPECT_EQ(code_of([&] { out.define<double>("w", shape); }), Code::wrong_state);
    EXPECT_EQ(code_of([&] { out.set_attribute("", "a", true); }), Code::wrong_state);
    File in = rank.open(path, Mode::read);
    EXPECT_EQ(code_of([&] { static_cast<void>(in.begin_step()); }), Code::wrong_state);
    EXPECT_EQ(code_of([&] { in.define<double>("w", shape); }), Code::wrong_state);
    in.close();
    EXPECT_EQ(code_of([&] { in.get(v, got); }), Code::wrong_state);
    EXPECT_EQ(code_of([&] { in.steps(); }), Code::wrong_state);
    EXPECT_EQ(code_of([&] { in.close(); }), Code::wrong_state);
  });
}

SLUICE_BEHAVIOUR(errors, a_variable_before_its_definition) {
  const std::string path = world.path("undefined.h5");
  for (const Variable v : {Variable(), Variable(0)}) {
    expect_same_error(world.run_catching([&](Rank& rank) {
      File out = rank.open(path, Mode::write);
      Step step = out.begin_step();
      if (rank.is(1)) {
        step.put(v, zeros);
      }
      step.end();
    }),
                      Code::invalid_argument, {"was not defined", path});
  }
  EXPECT_FALSE(world.exists(path));
}

SLUICE_BEHAVIOUR(errors, memory_of_a_type_that_the_variable_cannot_take) {
  const std::string path = world.path("type.h5");
  const std::complex<double> data[36] = {};
  expect_same_error(world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("spins", shape, {.steps = true});
    Step step = out.begin_step();
    if (rank.is(1)) {
      step.put(v, data);
    }
    step.end();
  }),
                    Code::type_mismatch, {"spins", "complex128", "float64", path});
  EXPECT_FALSE(world.exists(path));
}

SLUICE_BEHAVIOUR(errors, a_stepped_variable_put_outside_a_step) {
  const std::string path = world.path("no_step.h5");
  expect_same_error(world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("spins", shape, {.steps = true});
    if (rank.is(1)) {
      out.put(v, zeros);
    }
    out.flush();
  }),
                    Code::wrong_state, {"spins", "begin_step", path});
}

void write_there(World& world, const std::string& path) {
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    out.define<double>("there", {2});
    out.close();
  });
}

SLUICE_BEHAVIOUR(errors, a_name_that_is_not_in_the_file) {
  const std::string path = world.path("absent.h5");
  write_there(world, path);
  expect_same_error(
      world.run_catching([&](Rank& rank) { rank.open(path, Mode::read).find("not"); }),
      Code::not_found, {"not", "there", path});
}

SLUICE_BEHAVIOUR(errors, what_a_variable_does_not_have) {
  const std::string path = world.path("there.h5");
  write_there(world, path);
  expect_same_error(
      world.run_catching([&](Rank& rank) { rank.open(path, Mode::read).attribute("there", "a"); }),
      Code::not_found, {"there", " a", path});
  expect_same_error(world.run_catching([&](Rank& rank) {
    File in = rank.open(path, Mode::read);
    double got[4];
    in.get(in.find("there"), got, {.start = {1}, .count = {rank.is(1) ? 2U : 1U}});
  }),
                    Code::out_of_bounds, {"there", "(2)", path});
}

SLUICE_BEHAVIOUR(errors, ranks_that_get_different_things) {
  const std::string path = world.path("different.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    out.define<double>("a", {2});
    out.define<double>("b", {2});
    out.close();
  });
  const auto caught = world.run_catching([&](Rank& rank) {
    File in = rank.open(path, Mode::read);
    double got[2];
    in.get(in.find(rank.rank() == 0 ? "a" : "b"), got);
  });
  expect_same_error(caught, world.ranks() == 1 ? Code::ok : Code::divergent,
                    world.ranks() == 1
                        ? std::vector<std::string>{}
                        : std::vector<std::string>{path, "rank 1 gets b, rank 0 gets a"});
}

}  // namespace
}  // namespace sluice::test::errors
