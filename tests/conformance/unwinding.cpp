// Files that are destroyed during exception unwinding: ended steps are in the file.
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::unwinding {
namespace {

const Shape shape = {5, 6};
constexpr std::uint64_t ended = 3;

/// An exception of the simulation, unknown to the library.
struct Diverged : std::runtime_error {
  Diverged() : std::runtime_error("the simulation diverged") {}
};

/// Puts a step and ends it, or `throws` in the middle of it.
void put_step(File& out, Variable v, Rank& rank, std::uint64_t key, bool throws = false) {
  Giver<float> giver;
  Step step = out.begin_step();
  giver.put(step, v, key, shape, slab(shape, rank.rank(), rank.ranks()));
  if (throws) {
    throw Diverged();
  }
  step.end();
}

enum class Place : std::uint8_t { between_steps, in_step };

/// Three steps end; then all ranks throw, or one of them while the others continue.
void write_and_throw(Rank& rank, const std::string& path, Durability durability, Place place,
                     bool all_throw) {
  const bool throws = all_throw || rank.is(2);
  std::string met;
  try {
    Options options = rank.options();
    options.durability = durability;
    File out = rank.open(path, Mode::write, options);
    const Variable v = out.define<float>("v", shape, {.steps = true});
    for (std::uint64_t s = 0; s < ended; ++s) {
      put_step(out, v, rank, s);
    }
    if (throws && place == Place::between_steps) {
      throw Diverged();
    }
    put_step(out, v, rank, ended, throws);
  } catch (const Error& error) {
    met = error.what();
  } catch (const Diverged&) {
    met = "own";
  }
  if (throws) {
    EXPECT_EQ(met, "own");
  } else {
    EXPECT_NE(met.find("abandoned"), std::string::npos) << met;
  }
}

void expect_ended_steps(World& world, const std::string& path) {
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        ASSERT_EQ(in.steps(), ended);
        for (std::uint64_t s = 0; s < ended; ++s) {
          expect_values<float>(in, "v", s, shape, whole_box(shape), s);
        }
      },
      world.other_ranks());
}

void try_all(World& world, bool all_throw) {
  int files = 0;
  for (const Durability durability : world.durabilities()) {
    for (const Place place : {Place::between_steps, Place::in_step}) {
      const std::string path = world.path("unwound" + std::to_string(files++));
      world.run([&](Rank& rank) { write_and_throw(rank, path, durability, place, all_throw); });
      expect_ended_steps(world, path);
    }
  }
}

SLUICE_BEHAVIOUR(unwinding, of_all_ranks_keeps_the_steps_that_ended) { try_all(world, true); }

SLUICE_BEHAVIOUR(unwinding, of_one_rank_keeps_the_steps_that_ended) { try_all(world, false); }

}  // namespace
}  // namespace sluice::test::unwinding
