// Memory of another type than the file's, in both directions.
#include <limits>

#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test::conversions {
namespace {

const Shape shape = {9, 4};

/// Small integers that every type can hold.
template <class T>
T small_at(std::uint64_t index) {
  return static_cast<T>(index % 100 + 1);
}

template <class T>
Array<T> small_values(const model::Box& box) {
  Array<T> values(box.volume());
  for_each_element(dims_of(shape), box,
                   [&](std::uint64_t index, std::uint64_t k) { values[k] = small_at<T>(index); });
  return values;
}

template <class Memory, class Stored>
void convert(World& world) {
  const std::string path = world.path("convert.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<Stored>("v", shape, {.steps = true});
    const model::Box box = slab(shape, rank.rank(), rank.ranks());
    const Array<Memory> mine = small_values<Memory>(box);
    Step step = out.begin_step();
    step.put<Memory>(v, mine.data(), selection_of(box));
    step.end();
    out.close();
  });
  world.run(
      [&](Rank& rank) {
        File in = rank.open(path, Mode::read);
        EXPECT_EQ(type_name(in.info(in.find("v")).type), type_name(type_of<Stored>()));
        const model::Box box = whole_box(shape);
        Array<Stored> stored(box.volume());
        in.get<Stored>(in.find("v"), stored.data());
        Array<double> doubles(box.volume());
        in.get<double>(in.find("v"), doubles.data());
        for (std::uint64_t i = 0; i < box.volume(); ++i) {
          ASSERT_EQ(stored[i], small_at<Stored>(i)) << i;
          ASSERT_EQ(doubles[i], small_at<double>(i)) << i;
        }
      },
      world.other_ranks());
}

SLUICE_BEHAVIOUR(conversions, widening) {
  convert<float, double>(world);
  convert<std::int8_t, std::int64_t>(world);
  convert<std::uint16_t, std::uint32_t>(world);
  convert<std::int32_t, double>(world);
}

SLUICE_BEHAVIOUR(conversions, narrowing_that_fits) {
  convert<double, float>(world);
  convert<std::int64_t, std::int8_t>(world);
  convert<std::uint32_t, std::int16_t>(world);
  convert<std::int64_t, std::uint8_t>(world);
}

SLUICE_BEHAVIOUR(conversions, complex_widens_and_narrows) {
  const std::string path = world.path("complex.h5");
  world.run([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<std::complex<float>>("v", {5});
    std::complex<double> values[5];
    for (int i = 0; i < 5; ++i) {
      values[i] = {i + 0.5, -1.0 * i};
    }
    if (rank.is(0)) {
      out.put(v, values);
    }
    out.close();
    File in = rank.open(path, Mode::read);
    std::complex<double> got[5];
    in.get(in.find("v"), got);
    EXPECT_TRUE(std::equal(values, values + 5, got));
  });
}

/// Puts one value that does not fit on the last rank; `v` has 3 elements for each rank.
std::vector<Caught> put_too_large(World& world, const std::string& path, bool allowed) {
  return world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const auto ranks = static_cast<std::uint64_t>(rank.ranks());
    const Variable v = out.define<std::int16_t>("group/v", {3 * ranks}, {.steps = true});
    std::int64_t values[3] = {1, 2, rank.rank() + 1 == rank.ranks() ? 40000 : 3};
    Step step = out.begin_step();
    Selection mine{.start = {3 * static_cast<std::uint64_t>(rank.rank())}, .count = {3}};
    mine.allow_overflow = allowed;
    step.put(v, values, mine);
    step.end();
    out.close();
  });
}

SLUICE_BEHAVIOUR(conversions, overflow_of_put_is_an_error_on_every_rank) {
  const std::string path = world.path("overflow.h5");
  const std::string at = "(" + std::to_string(3 * world.ranks() - 1) + ")";
  expect_same_error(put_too_large(world, path, false), Code::overflow,
                    {"group/v", "40000", at, "int16", path});
  EXPECT_FALSE(world.exists(path));
}

SLUICE_BEHAVIOUR(conversions, overflow_of_put_may_be_allowed) {
  const std::string path = world.path("allowed.h5");
  expect_same_error(put_too_large(world, path, true), Code::ok);
  world.run([&](Rank& rank) {
    File in = rank.open(path, Mode::read);
    std::vector<std::int16_t> got(static_cast<std::size_t>(3 * world.ranks()));
    in.get(in.find("group/v"), got.data());
    for (std::size_t i = 0; i + 1 < got.size(); ++i) {
      EXPECT_EQ(got[i], static_cast<std::int16_t>(i % 3 + 1)) << i;
    }
    EXPECT_EQ(got.back(), 40000 - 65536);  // as C++ converts it: modulo 2^16
  });
}

SLUICE_BEHAVIOUR(conversions, overflow_of_get_is_an_error_on_every_rank) {
  const std::string path = world.path("v.h5");  // also the name of the variable, if it has none
  auto open_with_values = [&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<double>("v", {4});
    const double values[4] = {1, 2, 1e300, 4};
    if (rank.is(0)) {
      out.put(v, values);
    }
    out.close();
    return rank.open(path, Mode::read);
  };
  expect_same_error(world.run_catching([&](Rank& rank) {
    File in = open_with_values(rank);
    float got[4];
    // Only the selection of one rank contains the value.
    const std::uint64_t first = rank.is(1) ? 2 : 0;
    in.get(in.find("v"), got, {.start = {first}, .count = {2}});
  }),
                    Code::overflow, {"get v", "e+300", "float32", path});
  expect_same_error(world.run_catching([&](Rank& rank) {
    File in = open_with_values(rank);
    float got[1];
    const std::uint64_t row = rank.is(1) ? 2 : 0;
    in.get_rows(in.find("v"), &row, 1, got);
  }),
                    Code::overflow, {"get_rows v", "e+300", "float32", path});
  world.run([&](Rank& rank) {
    File in = open_with_values(rank);
    float got[4] = {};
    Selection all;
    all.allow_overflow = true;
    in.get(in.find("v"), got, all);
    EXPECT_EQ(got[0], 1);
    EXPECT_EQ(got[1], 2);
    EXPECT_EQ(got[2], std::numeric_limits<float>::infinity());
    EXPECT_EQ(got[3], 4);
  });
}

SLUICE_BEHAVIOUR(conversions, kinds_that_do_not_convert_are_refused) {
  const std::string path = world.path("kinds.h5");
  expect_same_error(world.run_catching([&](Rank& rank) {
    File out = rank.open(path, Mode::write);
    const Variable v = out.define<std::int32_t>("count", {2});
    const double halves[2] = {0.5, 1.5};
    if (rank.is(1)) {
      out.put(v, halves);
    }
    out.flush();
  }),
                    Code::type_mismatch, {"count", "float64", "int32", path});
}

}  // namespace
}  // namespace sluice::test::conversions
