// Writes the sets that readers_test.py opens with other programs' libraries: write_sets FOLDER.
#include <cstdio>
#include <string>

#include "api/file/file_impl.hpp"
#include "layout/hdf5/index.hpp"
#include "support/local_transport.hpp"

namespace {

using sluice::File;
using sluice::Mode;
using sluice::Options;
using sluice::Shape;
using sluice::Variable;

Options options_of(const std::string& strategy, int writers) {
  Options options;
  options.strategy = strategy;
  options.writers = writers;
  options.durability = sluice::Durability::none;
  return options;
}

template <class Write>
void make(int ranks, const std::string& path, Mode mode, const Options& options,
          const Write& write) {
  const auto storage = sluice::storage::make("posix");
  sluice::exec::run_local(ranks, 1, [&](sluice::exec::Transport& transport) {
    File file(sluice::detail::open_on(transport, storage, path, mode, options));
    write(file, transport.rank(), transport.size());
    file.close();
  });
}

/// Element i (row-major) of step s is 1000 s + i. Blocks: slabs of rows, or single rows dealt in
/// turn, whose union is no box.
void put_step(File& file, Variable variable, const Shape& shape, std::uint64_t s, int rank,
              int ranks, bool in_turn) {
  std::vector<double> values(shape[0] * shape[1]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(1000 * s + i);
  }
  auto step = file.begin_step({.time = 0.25 * static_cast<double>(s)});
  for (std::uint64_t row = 0; row < shape[0]; ++row) {
    const std::uint64_t owner = in_turn ? row % static_cast<std::uint64_t>(ranks)
                                        : row * static_cast<std::uint64_t>(ranks) / shape[0];
    if (owner == static_cast<std::uint64_t>(rank)) {
      step.put(variable, values.data() + row * shape[1],
               {.start = {row, 0}, .count = {1, shape[1]}});
    }
  }
  step.end();
}

void write_run(const std::string& path, const Options& options, bool in_turn) {
  const Shape shape{11, 4};
  make(4, path, Mode::write, options, [&](File& file, int rank, int ranks) {
    const auto v = file.define<double>("group/v", shape, {.steps = true, .unit = "m"});
    const auto fixed = file.define<std::int32_t>("fixed", {6});
    const auto scalar = file.define<float>("scalar", {});
    const auto partial =
        file.define<std::int16_t>("partial", {4}, {.steps = true, .partial = true, .fill = -5});
    const auto complex = file.define<std::complex<double>>("complex", {4});
    const auto flags = file.define<bool>("flags", {4});
    file.set_attribute("", "title", std::string("parts"));
    const std::int32_t numbers[] = {0, 1, 2, 3, 4, 5};
    const float half = 0.5F;
    const std::complex<double> z(rank, -rank);
    const bool flag = rank % 2 == 1;
    const auto r = static_cast<std::uint64_t>(rank);
    if (rank == 2) {
      file.put(fixed, numbers);
      file.put(scalar, &half);
    }
    file.put(complex, &z, {.start = {r}, .count = {1}});
    file.put(flags, &flag, {.start = {r}, .count = {1}});
    file.flush();
    for (std::uint64_t s = 0; s < 3; ++s) {
      put_step(file, v, shape, s, rank, ranks, in_turn);
    }
    const std::int16_t seven = 7;
    auto step = file.begin_step({.time = 0.75});
    std::vector<double> values(44, 4);
    if (rank == 1) {
      step.put(v, values.data());
      step.put(partial, &seven, {.start = {2}, .count = {1}});
    }
    step.end();
  });
  // Another number of ranks goes on.
  make(3, path, Mode::append, options, [&](File& file, int rank, int ranks) {
    const auto v = file.find("group/v");
    put_step(file, v, shape, 4, rank, ranks, in_turn);
  });
}

/// As netCDF has it: named dimensions, a coordinate, text, a flag; single rows dealt in turn where
/// `in_turn`.
void write_netcdf(const std::string& path, const Options& options, bool in_turn) {
  const Shape shape{11, 4};
  make(4, path, Mode::write, options, [&](File& file, int rank, int ranks) {
    const auto v = file.define<double>(
        "v", shape, {.steps = true, .unit = "K", .dimensions = {"cell", "level"}});
    const auto level = file.define<float>("level", {4}, {.unit = "m", .dimensions = {"level"}});
    const auto names = file.define_raw("names", sluice::string_type(3), {4}, {});
    const auto flags = file.define<bool>("flags", {4});
    const auto scalar = file.define<std::int32_t>("scalar", {});
    const float height = 10.0F * static_cast<float>(rank);
    const bool flag = rank % 2 == 1;
    const std::int32_t answer = 42;
    const auto r = static_cast<std::uint64_t>(rank);
    file.put(level, &height, {.start = {r}, .count = {1}});
    file.put(flags, &flag, {.start = {r}, .count = {1}});
    const std::string text = "r" + std::to_string(10 + rank);
    file.put_raw(names, text.data(), sluice::string_type(3), {.start = {r}, .count = {1}});
    if (rank == 3) {
      file.put(scalar, &answer);
    }
    file.flush();
    for (std::uint64_t s = 0; s < 3; ++s) {
      put_step(file, v, shape, s, rank, ranks, in_turn);
    }
  });
}

/// An index as a run of so many parts and steps writes it. Opening needs no parts.
void write_large_index(const std::string& path, std::uint32_t parts, std::uint64_t steps) {
  namespace layout = sluice::layout;
  layout::PartSet set;
  set.id = 1;
  set.strategy = "file-per-process";
  set.variables = {{"v", true}};
  set.datasets = {"v"};
  std::vector<layout::CommitRow> rows;
  for (std::uint64_t step = 0; step < steps; ++step) {
    rows.push_back({step, 0.5 * static_cast<double>(step), 0, 0, 1});
  }
  for (std::uint32_t p = 0; p < parts; ++p) {
    char name[64];
    std::snprintf(name, sizeof name, "large.h5.parts/%06u.h5", p);
    set.parts.push_back({name, p, steps, 1, 1});
    layout::Mapping mapping;
    mapping.part = p;
    mapping.steps = steps;
    mapping.box = {{100ULL * p, 0}, {100, 3}};
    set.mappings.push_back(mapping);
  }
  sluice::model::Definition definition;
  definition.name = "v";
  definition.shape = {100ULL * parts, 3};
  definition.stepped = true;
  const std::vector<sluice::model::Definition> definitions{definition};
  const std::map<std::uint32_t, std::vector<std::byte>> scalars;
  const auto file = sluice::storage::make("posix")->open(path, sluice::storage::Access::create);
  layout::hdf5::write_index(*file, {definitions, &set, {}, rows, &scalars});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_sets FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  write_run(folder + "/process.h5", options_of("file-per-process", 0), false);
  write_run(folder + "/node.h5", options_of("file-per-node", 2), false);
  write_run(folder + "/listed.h5", options_of("file-per-node", 2), true);
  write_netcdf(folder + "/process.nc", options_of("file-per-process", 0), false);
  write_netcdf(folder + "/listed.nc", options_of("file-per-node", 2), true);
  Options split = options_of("shared", 0);
  split.split_steps = 2;
  write_run(folder + "/split.h5", split, false);
  Options kept = options_of("collective", 2);
  kept.keep_last = 5;  // as many as there are in the end, each in a part of its own
  write_run(folder + "/kept.h5", kept, true);
  write_large_index(folder + "/large.h5", 1024, 100);
  return 0;
}
