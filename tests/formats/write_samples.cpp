// Writes one file of every kind that the Python tests read, on 3 virtual ranks, into the folder
// that is the program's argument. Element i of variable v in step s has the value 1000 s + i, if
// its type can hold it.
#include <cstdio>
#include <filesystem>

#include "api/file/file_impl.hpp"
#include "support/local_transport.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

constexpr int ranks = 3;
constexpr std::uint64_t steps = 4;

template <class T>
T plain_value(std::uint64_t step, std::uint64_t index) {
  if constexpr (std::is_same_v<T, bool>) {
    return (index + step) % 3 == 0;
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    return {plain_value<double>(step, index), 0};
  } else {
    return static_cast<T>(1000 * step + index);
  }
}

/// This rank's rows of a variable, with their values.
template <class T, class Target>
void give(Target& target, std::deque<Array<T>>& held, Variable variable, const Shape& shape,
          int rank, std::uint64_t step) {
  const model::Box box = slab(shape, rank, ranks);
  if (shape.empty() && rank != 0) {
    return;
  }
  held.emplace_back(box.volume());
  for_each_element(dims_of(shape), box, [&](std::uint64_t index, std::uint64_t k) {
    held.back()[k] = plain_value<T>(step, index);
  });
  target.template put<T>(variable, held.back().data(), selection_of(box));
}

template <class T>
struct Held {
  std::deque<Array<T>> arrays;
};

class Writer {
 public:
  Writer(exec::Transport& transport, std::string folder)
      : transport_(transport), folder_(std::move(folder)) {}

  File open(const std::string& name, const Options& options = {}, Mode mode = Mode::write) {
    return File(
        detail::open_on(transport_, storage::make_posix(), folder_ + "/" + name, mode, options));
  }
  int rank() const { return transport_.rank(); }

 private:
  exec::Transport& transport_;
  std::string folder_;
};

/// Named dimensions with coordinates, types, attributes, a partial variable, a group.
void write_grid(Writer& writer, const std::string& name, const Options& options = {}) {
  const Shape grid = {6, 4};
  File out = writer.open(name, options);
  const auto y = out.define<double>("y", {6}, {.unit = "m", .dimensions = {"y"}});
  const auto x = out.define<float>("x", {4}, {.unit = "km", .dimensions = {"x"}});
  const auto t = out.define<double>(
      "temperature", grid,
      {.steps = true, .unit = "K", .description = "temperature of air", .dimensions = {"y", "x"}});
  const auto mask = out.define<bool>("mask", grid, {.dimensions = {"y", "x"}});
  const auto some = out.define<std::int32_t>(
      "some", {6}, {.steps = true, .partial = true, .fill = -7, .dimensions = {"y"}});
  const auto plain = out.define<std::uint8_t>("plain", {5, 5}, {.steps = true});
  const auto energy = out.define<double>("energy", {}, {.steps = true, .unit = "J"});
  const auto inner = out.define<std::int64_t>("deep/inner", {4}, {.dimensions = {"x"}});
  const auto label = out.define_raw("label", string_type(6), {2}, {.dimensions = {"name"}});
  out.set_attribute("", "title", std::string("a grid — with a dash"));
  out.set_attribute("", "empty", std::string());
  out.set_attribute("", "numbers", std::vector<double>{1.5, 2.5});
  out.set_attribute("", "is_test", true);
  out.set_attribute("temperature", "valid_range", std::vector<double>{0, 5000});
  out.set_attribute("temperature", "words", std::vector<std::string>{"one", "two"});
  out.set_attribute("time", "units", std::string("seconds since 2000-01-01"));
  Held<double> doubles;
  Held<float> floats;
  Held<bool> flags;
  Held<std::int32_t> ints;
  Held<std::uint8_t> bytes;
  Held<std::int64_t> longs;
  const char names[] = "abc\0\0\0uvwxyz";
  if (writer.rank() == 0) {
    out.put_raw(label, names, string_type(6), {});
  }
  give(out, floats.arrays, x, {4}, writer.rank(), 0);
  give(out, flags.arrays, mask, grid, writer.rank(), 0);
  give(out, longs.arrays, inner, {4}, writer.rank(), 0);
  for (std::uint64_t s = 0; s < steps; ++s) {
    Step step = out.begin_step({.time = 0.5 * static_cast<double>(s)});
    give(step, doubles.arrays, t, grid, writer.rank(), s);
    give(step, bytes.arrays, plain, {5, 5}, writer.rank(), s);
    give(step, doubles.arrays, energy, {}, writer.rank(), s);
    if (writer.rank() == 1 && s % 2 == 0) {
      ints.arrays.emplace_back(2);
      ints.arrays.back()[0] = plain_value<std::int32_t>(s, 2);
      ints.arrays.back()[1] = plain_value<std::int32_t>(s, 3);
      step.put(some, ints.arrays.back().data(), {.start = {2}, .count = {2}});
    }
    step.end();
  }
  give(out, doubles.arrays, y, {6}, writer.rank(), 0);  // its scale was created by the first step
  out.close();
}

/// No names, no times, sizes that are shared and a size of zero.
void write_nameless(Writer& writer) {
  File out = writer.open("nameless.nc4");
  const auto a = out.define<double>("a", {3, 3}, {.steps = true});
  const auto b = out.define<double>("b", {3}, {.steps = true});
  const auto c = out.define<double>("c", {0, 3}, {.steps = true});
  const auto varying = out.define<float>("v", {7, 2}, {.steps = true, .varying = true});
  Held<double> doubles;
  Held<float> floats;
  for (std::uint64_t s = 0; s < steps; ++s) {
    Step step = out.begin_step();
    step.resize(varying, s + 1);
    give(step, doubles.arrays, a, {3, 3}, writer.rank(), s);
    give(step, doubles.arrays, b, {3}, writer.rank(), s);
    give(step, doubles.arrays, c, {0, 3}, writer.rank(), s);
    give(step, floats.arrays, varying, {s + 1, 2}, writer.rank(), s);
    step.end();
  }
  out.close();
}

template <class T>
void write_array(Writer& writer, const std::string& name, const Shape& shape,
                 const VariableOptions& variable) {
  File out = writer.open(name);
  const auto v = out.define<T>("v", shape, variable);
  Held<T> held;
  for (std::uint64_t s = 0; s < steps && variable.steps; ++s) {
    Step step = out.begin_step();
    give(step, held.arrays, v, shape, writer.rank(), s);
    step.end();
  }
  if (!variable.steps) {
    give(out, held.arrays, v, shape, writer.rank(), 0);
  }
  out.close();
}

void write_arrays(Writer& writer) {
  write_array<double>(writer, "steps.npy", {5, 3}, {.steps = true});
  write_array<float>(writer, "scalars.npy", {}, {.steps = true});
  write_array<std::int16_t>(writer, "fixed.npy", {4, 2, 3}, {});
  write_array<bool>(writer, "flags.npy", {10}, {});
  write_array<std::complex<double>>(writer, "complex.npy", {6}, {});
  write_array<std::uint64_t>(writer, "empty.npy", {0, 3}, {.steps = true});
}

/// A group a step, with steps of different lengths and one that is left out.
void write_grouped(Writer& writer) {
  Options options;
  options.hdf5_layout = "grouped";
  File out = writer.open("grouped.h5", options);
  const auto atoms = out.define<double>(
      "atoms", {8, 3},
      {.steps = true, .unit = "m", .dimensions = {"atom", "axis"}, .varying = true});
  out.set_attribute("time", "units", std::string("ps"));
  const auto energy = out.define<double>("deep/energy", {}, {.steps = true, .partial = true});
  const auto box = out.define<double>("box", {3});
  Held<double> doubles;
  give(out, doubles.arrays, box, {3}, writer.rank(), 0);
  for (std::uint64_t s = 0; s < steps; ++s) {
    Step step = out.begin_step({.time = 0.25 * static_cast<double>(s)});
    step.resize(atoms, 2 * s);
    give(step, doubles.arrays, atoms, {2 * s, 3}, writer.rank(), s);
    if (s != 2) {
      give(step, doubles.arrays, energy, {}, writer.rank(), s);
    }
    step.end();
  }
  out.close();
}

/// Names that come before their coordinates and their times do, each in a commit of its own; and
/// those that no scale can have: of two sizes, and of another variable.
void write_later(Writer& writer, const std::string& name, const Options& options = {}) {
  Held<double> doubles;
  const Shape shape = {3, 5};
  {
    File out = writer.open(name, options);
    const auto early =
        out.define<double>("early", shape, {.steps = true, .dimensions = {"y", "x"}});
    const auto taken = out.define<double>("taken", {5}, {.dimensions = {"other"}});
    const auto long_x = out.define<double>("long_x", {7}, {.dimensions = {"x"}});
    Step step = out.begin_step();
    give(step, doubles.arrays, early, shape, writer.rank(), 0);
    step.end();
    give(out, doubles.arrays, taken, {5}, writer.rank(), 0);
    give(out, doubles.arrays, long_x, {7}, writer.rank(), 0);
    out.close();
  }
  File out = writer.open(name, options, Mode::append);
  const auto early = out.find("early");
  const auto x = out.define<double>("x", {5}, {.dimensions = {"x"}});
  const auto other = out.define<double>("other/deep", {2}, {.dimensions = {"y"}});
  out.set_attribute("time", "units", std::string("ps"));
  give(out, doubles.arrays, x, {5}, writer.rank(), 0);
  give(out, doubles.arrays, other, {2}, writer.rank(), 0);
  Step step = out.begin_step({.time = 0.5});
  give(step, doubles.arrays, early, shape, writer.rank(), 1);
  step.end();
  out.close();
}

void write_stacked(Writer& writer) {
  File out = writer.open("varying.h5");
  const auto atoms = out.define<double>("atoms", {8, 3}, {.steps = true, .varying = true});
  Held<double> doubles;
  for (std::uint64_t s = 0; s < steps; ++s) {
    Step step = out.begin_step();
    step.resize(atoms, 2 * s);
    give(step, doubles.arrays, atoms, {2 * s, 3}, writer.rank(), s);
    step.end();
  }
  out.close();
}

}  // namespace
}  // namespace sluice::test

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_samples FOLDER\n");
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  try {
    sluice::exec::run_local(sluice::test::ranks, 1, [&](sluice::exec::Transport& transport) {
      sluice::test::Writer writer(transport, argv[1]);
      sluice::Options set;
      set.strategy = "file-per-process";
      sluice::test::write_grid(writer, "grid.nc");
      sluice::test::write_grid(writer, "grid.h5");
      sluice::test::write_grid(writer, "grid_set.h5", set);
      sluice::test::write_later(writer, "later.h5");
      sluice::test::write_later(writer, "later_set.h5", set);
      sluice::test::write_nameless(writer);
      sluice::test::write_arrays(writer);
      sluice::test::write_grouped(writer);
      sluice::test::write_stacked(writer);
    });
  } catch (const std::exception& e) {
    std::fprintf(stderr, "write_samples: %s\n", e.what());
    return 1;
  }
  return 0;
}
