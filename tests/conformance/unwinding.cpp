// Files that are destroyed during exception unwinding: ended steps are in the file.
#include <chrono>
#include <cstdlib>
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

/// Two files are open and no step: the one that is destroyed first is not the one whose step the
/// others end next. Nobody waits for another.
void write_two_and_throw(Rank& rank, const std::string& path) {
  Error met(Code::ok, "");
  const auto began = std::chrono::steady_clock::now();
  try {
    File first = rank.open(path + "first", Mode::write);
    File second = rank.open(path + "second", Mode::write);
    const Variable in_first = first.define<float>("v", shape, {.steps = true});
    const Variable in_second = second.define<float>("v", shape, {.steps = true});
    for (std::uint64_t s = 0; s < ended; ++s) {
      put_step(first, in_first, rank, s);
      put_step(second, in_second, rank, s);
    }
    if (rank.is(2)) {
      throw Diverged();
    }
    put_step(first, in_first, rank, ended);
  } catch (const Error& error) {
    met = error;
  } catch (const Diverged&) {
    EXPECT_TRUE(rank.is(2));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  if (!rank.is(2)) {
    EXPECT_EQ(met.code(), Code::wrong_state) << met.what();
    EXPECT_EQ(met.rank(), 2 % rank.ranks());
    EXPECT_NE(std::string(met.what()).find("was abandoned before its close"), std::string::npos)
        << met.what();
  }
}

SLUICE_BEHAVIOUR(unwinding, of_one_rank_with_two_files_keeps_nobody_waiting) {
  if (world.cell().storage == "mpiio") {
    return;  // dropping a file calls MPI_File_close, which waits for the other ranks
  }
  if (world.cell().strategy == "forward" && std::getenv("SLUICE_RANKS_PER_NODE") != nullptr) {
    return;  // ended steps reach the writers of other nodes within the calls of all ranks (the FAQ)
  }
  const std::string path = world.path("two");
  world.run([&](Rank& rank) { write_two_and_throw(rank, path); });
  expect_ended_steps(world, path + "first");
  expect_ended_steps(world, path + "second");
}

/// One rank abandons its step, which throws on the others: these leave, and it goes on.
SLUICE_BEHAVIOUR(unwinding, of_all_but_the_rank_that_abandoned_its_step_keeps_it_not_waiting) {
  if (world.ranks() == 1 || world.cell().storage == "mpiio" ||
      (world.cell().strategy == "forward" && std::getenv("SLUICE_RANKS_PER_NODE") != nullptr)) {
    return;  // as above
  }
  const std::string path = world.path("left");
  world.run([&](Rank& rank) {
    Error met(Code::ok, "");
    const auto began = std::chrono::steady_clock::now();
    try {
      File out = rank.open(path, Mode::write);
      const Variable v = out.define<float>("v", shape, {.steps = true});
      for (std::uint64_t s = 0; s < ended; ++s) {
        put_step(out, v, rank, s);
      }
      Step step = out.begin_step();
      if (rank.is(1)) {
        step.abandon("it is not needed");
        put_step(out, v, rank, ended);
      } else {
        step.end();
      }
    } catch (const Error& error) {
      met = error;
    }
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
    EXPECT_EQ(met.code(), Code::wrong_state) << met.what();
    EXPECT_EQ(met.rank() == 1, !rank.is(1)) << met.what();
    EXPECT_NE(std::string(met.what()).find("abandoned"), std::string::npos) << met.what();
  });
  expect_ended_steps(world, path);
}

}  // namespace
}  // namespace sluice::test::unwinding
