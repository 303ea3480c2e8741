// Selections of any kind, on other numbers of ranks than wrote them.
#include <deque>

#include "support/files.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::reading {
namespace {

const Shape shape = {13, 9, 6};

void write_file(World& world, const std::string& path) {
  world.run([&](Rank& rank) {
    Files out(world, rank, path, Mode::write);
    const Variable v = out.of("v").define<float>("v", shape, {.steps = true});
    const Variable w =
        out.of("w").define<double>("w", shape, {.steps = true, .chunk = world.chunk({4, 4, 4})});
    const Variable fixed = out.of("fixed").define<std::int32_t>("fixed", shape);
    const auto boxes = deal(shape, rank.ranks(), 8);
    for (std::uint64_t s = 0; s < 3; ++s) {
      Giver<float> a;
      Giver<double> b;
      Giver<std::int32_t> c;
      out.begin_step();
      for (const auto& box : boxes[static_cast<std::size_t>(rank.rank())]) {
        out.into("v", [&](auto& step) { a.put(step, v, s, shape, box); });
        out.into("w", [&](auto& step) { b.put(step, w, 10 + s, shape, box); });
        if (s == 0) {
          out.into("fixed", [&](auto& target) { c.put(target, fixed, 20, shape, box); });
        }
      }
      out.end_step();
    }
    out.close();
  });
}

SLUICE_BEHAVIOUR(reading, random_selections) {
  const std::string path = world.path("random.h5");
  write_file(world, path);
  for (const int readers : {1, world.other_ranks(), world.ranks()}) {
    world.run(
        [&](Rank& rank) {
          Files in(world, rank, path, Mode::read);
          Random random(static_cast<std::uint64_t>(rank.rank() + 100 * readers));
          for (std::uint64_t round = 0; round < 12; ++round) {
            const std::uint64_t s = round % 3;
            const auto box = [&] { return random_box(random, whole_box(shape), true); };
            expect_values<float>(in.of("v"), "v", s, shape, box(), s);
            expect_values<double>(in.of("w"), "w", 10 + s, shape, box(), s);
            expect_values<std::int32_t>(in.of("fixed"), "fixed", 20, shape, box());
          }
        },
        readers);
  }
}

SLUICE_BEHAVIOUR(reading, one_rank_asks_the_others_do_not) {
  const std::string path = world.path("one.h5");
  write_file(world, path);
  world.run([&](Rank& rank) {
    File in = rank.open(world.path_of(path, "v"), Mode::read);
    const model::Box box =
        rank.is(2) ? model::Box{{12, 0, 3}, {1, 9, 2}} : model::Box{{0, 0, 0}, {0, 9, 6}};
    expect_values<float>(in, "v", 1, shape, box, 1);
    expect_values<float>(in, "v", 1, shape, {{3, 3, 3}, {0, 0, 0}}, 1);  // no rank requests
                                                                         // anything
  });
}

SLUICE_BEHAVIOUR(reading, everybody_the_same_single_element) {
  const std::string path = world.path("same.h5");
  write_file(world, path);
  world.run([&](Rank& rank) {
    File in = rank.open(world.path_of(path, "w"), Mode::read);
    for (const std::uint64_t s : {2, 0, 1}) {
      expect_values<double>(in, "w", 10 + s, shape, {{12, 8, 5}, {1, 1, 1}}, s);
    }
  });
}

/// Defers random selections of a variable and checks them.
void get_deferred(World& world, Rank& rank, const std::string& path, const std::string& name,
                  std::uint64_t selections) {
  File in = rank.open(world.path_of(path, name), Mode::read);
  const Variable variable = in.find(name);
  Random random(static_cast<std::uint64_t>(rank.rank() + 7));
  std::deque<std::pair<model::Box, Array<double>>> wanted;
  for (std::uint64_t i = 0; i < selections; ++i) {
    const model::Box box = random_box(random, whole_box(shape), true);
    wanted.emplace_back(box, Array<double>(box.volume()));
    in.defer_get<double>(variable, wanted.back().second.data(), selection_of(box), i % 3);
  }
  in.perform_gets();
  for (std::uint64_t i = 0; i < wanted.size(); ++i) {
    const auto& [box, got] = wanted[i];
    Array<double> one(box.volume());
    in.get<double>(variable, one.data(), selection_of(box), i % 3);
    EXPECT_TRUE(std::equal(got.data(), got.data() + box.volume(), one.data())) << name << " " << i;
  }
  in.perform_gets();  // no request is recorded any more
}

SLUICE_BEHAVIOUR(reading, deferred_selections_are_what_get_brings) {
  const std::string path = world.path("deferred.h5");
  write_file(world, path);
  world.run([&](Rank& rank) {
    get_deferred(world, rank, path, "v", 12);
    get_deferred(world, rank, path, "w", 12);
  });
  // More than are agreed on at once.
  world.run([&](Rank& rank) { get_deferred(world, rank, path, "v", 70); }, 2);
}

SLUICE_BEHAVIOUR(reading, a_deferred_get_that_one_rank_asks_wrongly_fails_on_all) {
  const std::string path = world.path("deferred_wrong.h5");
  write_file(world, path);
  expect_same_error(world.run_catching([&](Rank& rank) {
    File in = rank.open(world.path_of(path, "v"), Mode::read);
    float got[702];
    in.defer_get(in.find("v"), got);
    if (rank.is(1)) {
      EXPECT_THROW(in.defer_get(in.find("v"), got, {}, 3), Error);
    }
    in.perform_gets();
  }),
                    Code::out_of_bounds, {"v", "step 3 of 3", path});
}

SLUICE_BEHAVIOUR(reading, a_step_that_is_not_there) {
  const std::string path = world.path("steps.h5");
  write_file(world, path);
  expect_same_error(world.run_catching([&](Rank& rank) {
    File in = rank.open(world.path_of(path, "v"), Mode::read);
    float got[1];
    in.get(in.find("v"), got, {.count = {1, 1, 1}}, 3);
  }),
                    Code::out_of_bounds, {"v", "step 3 of 3", path});
  expect_same_error(world.run_catching([&](Rank& rank) {
    File in = rank.open(world.path_of(path, "v"), Mode::read);
    const std::uint64_t id = 0;
    float got[54];
    in.get_rows(in.find("v"), &id, 1, got, 7);
  }),
                    Code::out_of_bounds, {"v", "step 7 of 3", path});
}

SLUICE_BEHAVIOUR(reading, null_pointers_are_refused) {
  const std::string path = world.path("null.h5");
  write_file(world, path);
  expect_same_error(world.run_catching([&](Rank& rank) {
    File in = rank.open(world.path_of(path, "v"), Mode::read);
    float got[702];
    in.get<float>(in.find("v"), rank.is(1) ? nullptr : got);
  }),
                    Code::invalid_argument, {"v", "null", path});
  expect_same_error(world.run_catching([&](Rank& rank) {
    File in = rank.open(world.path_of(path, "v"), Mode::read);
    const std::uint64_t id = 0;
    float got[54];
    in.get_rows<float>(in.find("v"), &id, 1, rank.is(1) ? nullptr : got);
  }),
                    Code::invalid_argument, {"v", "null", path});
}

}  // namespace
}  // namespace sluice::test::reading
