// Ranks that call a collective with different arguments: an error on every rank, never a hang.
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::divergence {
namespace {

const Shape shape = {4};
const double zeros[4] = {};

/// Runs if there is more than one rank: rank 1 must be reported as in `text`.
void expect_divergent(World& world, const std::string& text, const World::Body& body) {
  const auto caught = world.run_catching(body);
  if (world.ranks() == 1) {
    expect_same_error(caught, Code::ok);
    return;
  }
  expect_same_error(caught, Code::divergent, {"the ranks disagree: " + text});
  EXPECT_EQ(caught.front().rank, 1);
}

SLUICE_BEHAVIOUR(divergence, of_the_names_of_variables) {
  expect_divergent(world, "rank 1 defined b, rank 0 defined a", [&](Rank& rank) {
    File out = rank.open(world.path("names.h5"), Mode::write);
    out.define<double>(rank.rank() == 0 ? "a" : "b", shape);
    out.close();
  });
}

SLUICE_BEHAVIOUR(divergence, of_types_shapes_and_options) {
  expect_divergent(world, "rank 1 defined v as float64, rank 0 as float32", [&](Rank& rank) {
    File out = rank.open(world.path("type.h5"), Mode::write);
    out.define_raw("v", type_of(rank.rank() == 0 ? Kind::f32 : Kind::f64), shape, {});
    out.close();
  });
  expect_divergent(world, "rank 1 defined v with shape (5), rank 0 with shape (4)",
                   [&](Rank& rank) {
                     File out = rank.open(world.path("shape.h5"), Mode::write);
                     out.define<double>("v", {4 + static_cast<std::uint64_t>(rank.rank())}, {});
                     out.close();
                   });
  expect_divergent(world, "rank 1 defined v without steps, rank 0 with steps", [&](Rank& rank) {
    File out = rank.open(world.path("options.h5"), Mode::write);
    out.define<double>("v", shape, {.steps = rank.rank() == 0});
    out.close();
  });
}

SLUICE_BEHAVIOUR(divergence, of_the_number_of_definitions) {
  expect_divergent(world, "rank 0 defined b, rank 1 did not: every rank defines", [&](Rank& rank) {
    File out = rank.open(world.path("number.h5"), Mode::write);
    if (world.format().many) {
      out.define<double>("a", shape);
    }
    if (rank.rank() == 0) {
      out.define<double>("b", shape);
    }
    out.close();
  });
}

SLUICE_BEHAVIOUR(divergence, of_attributes) {
  expect_divergent(world, "rank 1 set the attribute b, rank 0 set the attribute a",
                   [&](Rank& rank) {
                     File out = rank.open(world.path("attributes.h5"), Mode::write);
                     out.set_attribute("", rank.rank() == 0 ? "a" : "b", true);
                     out.close();
                   });
}

SLUICE_BEHAVIOUR(divergence, of_one_rank_among_many_definitions) {
  if (!world.format().many) {
    return;
  }
  const int odd = world.ranks() - 1;
  const auto caught = world.run_catching([&](Rank& rank) {
    File out = rank.open(world.path("many.h5"), Mode::write);
    out.define<double>("before", shape);
    out.flush();
    for (const std::uint64_t v : {0, 1, 2}) {
      out.define<double>("v" + std::to_string(v),
                         {v == 1 && rank.rank() == odd ? 7 : std::uint64_t{4}});
    }
    out.close();
  });
  if (world.ranks() == 1) {
    expect_same_error(caught, Code::ok);
    return;
  }
  expect_same_error(
      caught, Code::divergent,
      {"rank " + std::to_string(odd) + " defined v1 with shape (7), rank 0 with shape (4)"});
}

SLUICE_BEHAVIOUR(divergence, of_flush_and_close) {
  expect_divergent(world, "rank 1 closes, rank 0 flushes", [&](Rank& rank) {
    File out = rank.open(world.path("calls.h5"), Mode::write);
    out.define<double>("fixed", shape);
    if (rank.rank() == 0) {
      out.flush();
    } else {
      out.close();
    }
  });
}

/// One rank makes a step less than the others, who must not wait for it in their close().
SLUICE_BEHAVIOUR(divergence, of_the_end_of_a_step_and_close) {
  if (world.ranks() == 1) {
    return;
  }
  const std::string path = world.path("fewer.h5");
  expect_divergent(world, "rank 1 closes, rank 0 ends step 1: the file is closed", [&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("v", shape, {.steps = true});
    for (int s = 0; s < (rank.is(1) ? 1 : 2); ++s) {
      Step step = out.begin_step();
      if (rank.rank() == 0) {
        step.put(v, zeros);
      }
      try {
        step.end();
      } catch (const Error&) {
        try {
          out.close();
          ADD_FAILURE() << "it is closed already";
        } catch (const Error& e) {
          EXPECT_EQ(std::string(e.what()), path + ": is closed");
        }
        throw;
      }
    }
    out.close();
  });
  world.run([&](Rank& rank) {
    File in = rank.open(path, Mode::read);
    EXPECT_EQ(in.steps(), 1U);
  });
}

SLUICE_BEHAVIOUR(divergence, of_the_end_of_a_step_and_flush) {
  expect_divergent(world, "rank 1 ends step 0, rank 0 flushes", [&](Rank& rank) {
    File out = rank.open(world.path("step.h5"), Mode::write);
    const Variable v = out.define<double>("v", shape, {.steps = true});
    if (rank.rank() == 0) {
      out.flush();
    }
    Step step = out.begin_step();
    if (rank.is(1)) {
      step.put(v, zeros);
    }
    step.end();
  });
}

SLUICE_BEHAVIOUR(divergence, of_paths_modes_and_options) {
  auto close_with_a_variable = [](File file) {
    if (file.variables().empty()) {  // otherwise appended to
      file.define<double>("v", shape, {.steps = true});
    }
    file.close();
  };
  world.run([&](Rank& rank) { close_with_a_variable(rank.open(world.path("a.h5"), Mode::write)); });
  // Each names its own path before the difference.
  auto expect = [&](const std::vector<std::string>& parts, const World::Body& body) {
    for (const Caught& each : world.run_catching(body)) {
      EXPECT_EQ(each.code, world.ranks() == 1 ? Code::ok : Code::divergent) << each.text;
      for (const std::string& part : parts) {
        EXPECT_TRUE(world.ranks() == 1 || each.text.find(part) != std::string::npos) << each.text;
      }
    }
  };
  expect({"rank 1 opens ", "b.h5, rank 0 opens ", "a.h5"}, [&](Rank& rank) {
    close_with_a_variable(rank.open(world.path(rank.rank() == 0 ? "a.h5" : "b.h5"), Mode::write));
  });
  expect({"to write, rank 0 to append"}, [&](Rank& rank) {
    close_with_a_variable(
        rank.open(world.path("a.h5"), rank.rank() == 0 ? Mode::append : Mode::write));
  });
  expect({"with strategy = serial, rank 0 with strategy = shared"}, [&](Rank& rank) {
    Options options = rank.options();
    options.strategy = rank.rank() == 0 ? "shared" : "serial";
    close_with_a_variable(rank.open(world.path("a.h5"), Mode::write, options));
  });
}

SLUICE_BEHAVIOUR(divergence, of_what_was_deferred) {
  const std::string path = world.path("deferred.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("v", shape, {.steps = true});
    for (int s = 0; s < 2; ++s) {
      Step step = out.begin_step();
      if (rank.rank() == 0) {
        step.put(v, zeros);
      }
      step.end();
    }
    out.close();
  });
  double got[4];
  const auto other_step = [&](Rank& rank) {
    File in = rank.open(path, Mode::read);
    in.defer_get(in.find("v"), got, {}, rank.rank() == 0 ? 0 : 1);
    in.perform_gets();
  };
  const auto other_number = [&](Rank& rank) {
    File in = rank.open(path, Mode::read);
    in.defer_get(in.find("v"), got, {}, 0);
    if (rank.rank() == 0) {
      in.defer_get(in.find("v"), got, {}, 1);
    }
    in.perform_gets();
  };
  const auto other_call = [&](Rank& rank) {
    File in = rank.open(path, Mode::read);
    if (rank.rank() == 0) {
      in.get(in.find("v"), got, {}, 0);
    } else {
      in.perform_gets();
    }
  };
  // A format without names uses the name of its file for the variable.
  const std::string v = world.format().names ? "v" : "deferred";
  expect_divergent(world, "rank 1 gets " + v + " of step 1, rank 0 gets " + v + " of step 0",
                   other_step);
  expect_divergent(world, "rank 1 performs 1 deferred gets, rank 0 performs 2", other_number);
  expect_divergent(world, "rank 1 performs 0 deferred gets, rank 0 gets " + v + " of step 0",
                   other_call);
}

SLUICE_BEHAVIOUR(divergence, of_a_strategy_that_is_not_known) {
  const auto caught = world.run_catching([&](Rank& rank) {
    Options options = rank.options();
    options.strategy = "psychic";
    rank.open(world.path("unknown.h5"), Mode::write, options);
  });
  expect_same_error(caught, Code::invalid_argument, {"psychic", "serial", "shared"});
}

SLUICE_BEHAVIOUR(divergence, a_file_given_up_by_one_rank_fails_for_all) {
  const std::string path = world.path("given_up.h5");
  const auto caught = world.run_catching([&](Rank& rank) {
    try {
      File out = rank.open(path, Mode::write);
      const Variable v = out.define<double>("v", shape);
      if (rank.is(1)) {
        throw std::runtime_error("the simulation failed between two calls");
      }
      out.put(v, zeros, selection_of(slab(shape, rank.rank(), rank.ranks())));
      out.close();
    } catch (const std::runtime_error& error) {
      if (std::string(error.what()).find("between two calls") == std::string::npos) {
        throw;
      }
    }
  });
  for (std::size_t r = 0; r < caught.size(); ++r) {
    const bool is_thrower = r == 1 % caught.size();
    EXPECT_EQ(caught[r].code, is_thrower ? Code::ok : Code::wrong_state) << caught[r].text;
  }
  EXPECT_FALSE(world.exists(path));
}

}  // namespace
}  // namespace sluice::test::divergence
