// Creates the files for the tests of the command: make_files FOLDER. On virtual ranks of one
// process, so that they contain blocks of several ranks and their checksums.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "api/file/file_impl.hpp"
#include "api/records/records_impl.hpp"
#include "commit/publish/journal.hpp"
#include "sluice/records.hpp"
#include "support/local_transport.hpp"
#include "support/part_paths.hpp"

namespace {

using sluice::File;
using sluice::Mode;
using sluice::Selection;
using sluice::Shape;

constexpr int ranks = 3;
constexpr std::uint64_t rows = 30;
constexpr std::uint64_t steps = 4;

/// Runs `write` on all ranks with a file of that name.
template <class Write>
void make(const std::string& path, const Write& write, const sluice::Options& options = {}) {
  const auto storage = sluice::storage::make("posix");
  sluice::exec::run_local(ranks, 1, [&](sluice::exec::Transport& transport) {
    File file(sluice::detail::open_on(transport, storage, path, Mode::write, options));
    write(file, transport.rank());
    file.close();
  });
}

/// This rank's rows of a variable with `columns` columns (0: no such dimension).
Selection mine(int rank, std::uint64_t columns) {
  constexpr std::uint64_t count = rows / ranks;
  Selection part{.start = {static_cast<std::uint64_t>(rank) * count}, .count = {count}};
  if (columns != 0) {
    part.start.push_back(0);
    part.count.push_back(columns);
  }
  return part;
}

/// spins: a small run: coordinates once, spins in every step.
void make_run(const std::string& path, double shift) {
  make(path, [&](File& file, int rank) {
    const auto coordinates =
        file.define<double>("coordinates", {rows, 3}, {.unit = "nm", .description = "places"});
    const auto spins = file.define<double>("spins", {rows, 3}, {.steps = true, .unit = "1"});
    const auto energy = file.define<float>("observables/energy", {}, {.steps = true, .unit = "eV"});
    file.set_attribute("", "title", std::string("a film of iron"));
    file.set_attribute("", "field_t", std::vector<double>{0, 0, 1.5});
    file.set_attribute("observables", "note", std::string("means over all atoms"));
    const Selection part = mine(rank, 3);
    std::vector<double> values(part.count[0] * 3);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<double>(part.start[0] * 3 + i) / 8;
    }
    file.put(coordinates, values.data(), part);
    file.flush();
    for (std::uint64_t step = 0; step < steps; ++step) {
      for (double& value : values) {
        value += 0.1 + (step == 2 && rank == 1 ? shift : 0);
      }
      const auto mean = static_cast<float>(step) / 3;
      auto writing = file.begin_step({.time = 0.5 * static_cast<double>(step)});
      writing.put(spins, values.data(), part);
      if (rank == 0) {
        writing.put(energy, &mean);
      }
      writing.end();
    }
  });
}

/// Puts values that need not outlive the call.
template <class T>
void put_all(File& file, int rank, const std::string& name, const std::vector<T>& values) {
  const auto variable = file.define<T>(name, {values.size()});
  if (rank == 0) {
    file.put(variable, values.data());
  }
  file.flush();
}

template <class T>
std::vector<T> extremes() {
  using Limits = std::numeric_limits<T>;
  return {Limits::min(), 0, 1, Limits::max()};
}

template <class T>
std::vector<T> odd_floats() {
  using Limits = std::numeric_limits<T>;
  return {
      T(0.1), -T(0), Limits::quiet_NaN(), -Limits::infinity(), Limits::max(), Limits::denorm_min()};
}

/// types: every element type, with the values that text formats tend to lose.
void make_types(const std::string& path) {
  make(path, [&](File& file, int rank) {
    put_all(file, rank, "i8", extremes<std::int8_t>());
    put_all(file, rank, "i16", extremes<std::int16_t>());
    put_all(file, rank, "i32", extremes<std::int32_t>());
    put_all(file, rank, "i64", extremes<std::int64_t>());
    put_all(file, rank, "u8", extremes<std::uint8_t>());
    put_all(file, rank, "u16", extremes<std::uint16_t>());
    put_all(file, rank, "u32", extremes<std::uint32_t>());
    put_all(file, rank, "u64", extremes<std::uint64_t>());
    put_all(file, rank, "f32", odd_floats<float>());
    put_all(file, rank, "f64", odd_floats<double>());
    put_all(file, rank, "c64", std::vector<std::complex<float>>{{1.5F, -0.0F}, {0.1F, 2}});
    put_all(file, rank, "c128", std::vector<std::complex<double>>{{1.5, -2}, {0.1, NAN}});
    const auto flags = file.define<bool>("flags", {3});
    const bool truth[] = {true, false, true};
    const auto names = file.define_raw("names", sluice::string_type(8), {3}, {});
    char texts[3][8] = {"Fe", "a,\"b\"", ""};
    std::memcpy(texts[2], "\xc3\xa4\xc3\xb6\xe2\x82\xac", 7);  // UTF-8 of two and three bytes
    const auto scalar = file.define<double>("scalar", {});
    const double third = 1.0 / 3;
    file.define<float>("empty", {0, 3});
    if (rank == 0) {
      file.put(flags, truth);
      file.put_raw(names, texts, sluice::string_type(8), {});
      file.put(scalar, &third);
    }
    file.flush();
    file.set_attribute("", "yes", true);
    file.set_attribute("", "count", std::int32_t{7});
    file.set_attribute("", "nothing", std::nan(""));
    file.set_attribute("", "who", std::vector<std::string>{"\xc3\x84", "b"});
  });
}

/// grid: three dimensions, large enough to be cut into several portions and shown by its corners.
void make_grid(const std::string& path) {
  make(path, [&](File& file, int rank) {
    constexpr std::uint64_t n = 96;
    const auto grid = file.define<double>("grid", {n, n, n}, {.steps = true});
    const Selection part{.start = {static_cast<std::uint64_t>(rank) * n / ranks, 0, 0},
                         .count = {n / ranks, n, n}};
    std::vector<double> values(n / ranks * n * n);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<double>(part.start[0] * n * n + i) / 4;
    }
    for (std::uint64_t step = 0; step < 2; ++step) {
      auto writing = file.begin_step();
      writing.put(grid, values.data(), part);
      writing.end();
    }
  });
}

/// partial: a variable with holes, one that was never put, and no time.
void make_partial(const std::string& path) {
  make(path, [&](File& file, int rank) {
    const auto holes =
        file.define<double>("holes", {rows}, {.steps = true, .partial = true, .fill = -1});
    file.define<std::int32_t>("never_put", {5});
    std::vector<double> values(rows / ranks, 2.5);
    auto writing = file.begin_step();
    if (rank != 1) {
      writing.put(holes, values.data(), mine(rank, 0));
    }
    writing.end();
  });
}

/// falling: a scalar and a field whose times fall.
void make_falling(const std::string& path) {
  make(path, [&](File& file, int rank) {
    const auto energy = file.define<double>("energy", {}, {.steps = true, .unit = "eV"});
    const auto pair = file.define<double>("pair", {2}, {.steps = true});
    for (std::uint64_t step = 0; step < steps; ++step) {
      const auto value = static_cast<double>(step);
      const double both[] = {value, value + 2};
      auto writing = file.begin_step({.time = 3 - value});
      if (rank == 0) {
        writing.put(energy, &value);
        writing.put(pair, &both[0]);
      }
      writing.end();
    }
    file.set_attribute("time", "units", std::string("\u00b5s"));
  });
}

/// unchecked: written with checksums off.
void make_unchecked(const std::string& path) {
  make(path,
       [&](File& file, int rank) {
         const auto values = file.define<std::int32_t>("values", {rows}, {.steps = true});
         const std::vector<std::int32_t> mine_here(rows / ranks, rank);
         auto writing = file.begin_step();
         writing.put(values, mine_here.data(), mine(rank, 0));
         writing.end();
       },
       {.checksum = false});
}

/// varying: particles, whose number differs in every step, far fewer than the maximum; step 2 has
/// `more` of them.
void make_varying(const std::string& path, std::uint64_t more) {
  make(path, [&](File& file, int rank) {
    const auto particles =
        file.define<double>("particles", {1ULL << 40, 2}, {.steps = true, .varying = true});
    for (std::uint64_t s = 0; s < steps; ++s) {
      const std::uint64_t count = 5 * s + (s == 2 ? more : 0);
      std::vector<double> values(2 * count);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<double>(i + s);
      }
      auto step = file.begin_step();
      step.resize(particles, count);
      if (rank == 0) {
        step.put(particles, values.data(), {.start = {0, 0}, .count = {count, 2}});
      }
      step.end();
    }
  });
}

/// set: a set of parts, one a rank.
void make_set(const std::string& path) {
  make(path,
       [&](File& file, int rank) {
         const auto values = file.define<double>("values", {rows}, {.steps = true});
         const std::vector<double> mine_here(rows / ranks, rank + 0.5);
         auto writing = file.begin_step();
         writing.put(values, mine_here.data(), mine(rank, 0));
         writing.end();
       },
       {.strategy = "file-per-process"});
}

/// interrupted: a set whose rows vary, as a crash leaves it: the name of the dataset of the lengths
/// is not in a part yet, only in its journal.
void make_interrupted(const std::string& path) {
  make(path,
       [&](File& file, int rank) {
         const auto p = file.define<double>("p", {1ULL << 40}, {.steps = true, .varying = true});
         for (std::uint64_t step = 0; step < steps; ++step) {
           const std::vector<double> values(step + static_cast<std::uint64_t>(rank), 0.5);
           auto writing = file.begin_step();
           writing.put_joined(p, values.data(), values.size());
           writing.end();
         }
       },
       {.strategy = "file-per-process"});
  const auto storage = sluice::storage::make("posix");
  for (const std::string& part : sluice::test::part_paths(*storage, path)) {
    const auto file = storage->open(part, sluice::storage::Access::read_write);
    std::vector<std::byte> bytes(file->size());
    bytes.resize(file->read(0, bytes));
    const auto name = std::as_bytes(std::span("p_length", 8));
    sluice::commit::Journal journal;
    journal.commit = steps + 1;
    journal.end = bytes.size();
    journal.modified_ns = file->modified_ns();
    const std::vector<std::byte> before(name.size());
    for (auto at = bytes.begin();; ++at) {
      at = std::search(at, bytes.end(), name.begin(), name.end());
      if (at == bytes.end()) {
        break;
      }
      const auto offset = static_cast<std::uint64_t>(at - bytes.begin());
      journal.runs.push_back({offset, before, {name.begin(), name.end()}, 0});
      file->write(offset, before);
    }
    if (!journal.runs.empty()) {  // one part has all the lengths
      storage->open(sluice::commit::journal_path(part), sluice::storage::Access::create)
          ->write(0, journal.to_bytes());
    }
  }
}

/// groups: two groups of records of three ranks.
void make_groups(const std::string& path) {
  const auto storage = sluice::storage::make("posix");
  sluice::exec::run_local(ranks, 1, [&](sluice::exec::Transport& transport) {
    sluice::Records out(std::make_unique<sluice::detail::RecordsImpl>(
        [&](const sluice::Options& wanted) {
          return sluice::detail::open_on(transport, storage, path, Mode::write, wanted);
        },
        Mode::write, 1, sluice::Options{}));
    for (int group = 0; group < 2; ++group) {
      for (int i = 0; i <= transport.rank(); ++i) {
        out.write(i + 10 * group);
      }
      out.commit();
    }
    out.close();
  });
}

/// continued: records of particles of a run on 3 ranks, continued on 2, then on 5, two groups each.
void make_continued(const std::string& path) {
  int step = 0;
  for (const int parts : {3, 2, 5}) {
    sluice::Records out(path, step == 0 ? Mode::write : Mode::append, parts);
    if (step == 0) {
      out.set_text("sluice_template",
                   "files %d.traj\n"
                   "(i6,f10.3,3f8.3,i6) step:int32 time_ps:float64 box_nm:float64(3) n:int32\n"
                   "*(i6,3f10.5) id:int32 position_nm:float32(3)\n");
    }
    for (const int end = step + 2; step < end; ++step) {
      constexpr int particles = 7;
      for (int part = 0; part < parts; ++part) {
        const int first = part * particles / parts;
        const int count = (part + 1) * particles / parts - first;
        const std::vector<double> time_and_box{0.5 * step, 8, 8, 8};
        out.write(step, part);
        out.write(time_and_box.data(), 4, part);
        out.write(count, part);
        for (int i = 0; i < count; ++i) {
          const int id = first + i + 1;
          const auto x = static_cast<float>(id) / 2 + static_cast<float>(step) / 8;
          const std::vector<float> place{x, 2, 3};
          out.write(id, part);
          out.write(place.data(), 3, part);
        }
      }
      out.commit();
    }
    out.close();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_files FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  make_run(folder + "/spins.h5", 0);
  make_run(folder + "/shifted.h5", 1e-6);
  make_types(folder + "/types.h5");
  make_grid(folder + "/grid.h5");
  make_partial(folder + "/partial.h5");
  make_falling(folder + "/falling.h5");
  make_unchecked(folder + "/unchecked.h5");
  make_varying(folder + "/varying.h5", 0);
  make_varying(folder + "/longer.h5", 3);
  make_set(folder + "/set.h5");
  make_interrupted(folder + "/interrupted.h5");
  make_groups(folder + "/groups.rec");
  make_continued(folder + "/continued.rec");
  return 0;
}
