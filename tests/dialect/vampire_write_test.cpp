// VAMPIRE's own formats as outputs: every mode, text and binary, on 1 to 5 ranks, read back.
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <sstream>

#include "dialect/vampire/write.hpp"
#include "dialect/vampire_folder.hpp"
#include "sluice/error.hpp"
#include "support/faulty_storage.hpp"
#include "support/local_transport.hpp"
#include "support/recording_storage.hpp"

namespace sluice::dialect::vampire {
namespace {

using storage::MemoryStorage;

const std::vector<Material> materials{{0, 1.72, "Ag", "Co"}, {1, 2.5, "Fe", "Iron"}};

/// The data to be written: atoms of an artificial folder, exact in six digits.
const Folder& sample() {
  static const Folder folder({.text = true, .rows = {23}});
  return folder;
}

/// Uneven, the second of four or more ranks has nothing.
std::array<std::uint64_t, 2> rows_of(int rank, int ranks) {
  auto range = share(sample().atoms, rank, ranks);
  if (ranks >= 4 && (rank == 1 || rank == 2)) {
    const auto both = share(sample().atoms, 1, ranks);
    const auto next = share(sample().atoms, 2, ranks);
    range = rank == 1 ? std::array{both[0], both[0]} : std::array{both[0], next[1]};
  }
  return range;
}

Coordinates part(std::uint64_t first, std::uint64_t count) {
  const Folder& all = sample();
  const auto cut = [&](const auto& list, std::uint64_t width) {
    return std::decay_t<decltype(list)>(list.begin() + first * width,
                                        list.begin() + (first + count) * width);
  };
  return {cut(all.type, 1), cut(all.category, 1), cut(all.xyz, 3)};
}

SpinsMeta meta_of(std::uint32_t index) {
  return {1e-14 * (index + 1), {0, 0, 2.5}, 300, {"0.6", "-0.0010324", "0.8"}, {}};
}

void write_all(exec::Transport& transport, const std::shared_ptr<storage::Storage>& storage,
               const WriteOptions& options) {
  const auto [first, end] = rows_of(transport.rank(), transport.size());
  SnapshotWriter writer(transport, storage, "run", materials, end - first, options);
  writer.write_coordinates(part(first, end - first));
  for (std::uint32_t k = 0; k < 2; ++k) {
    const auto& all = sample().spins[k];
    const WriteCost cost =
        writer.write_spins(k, meta_of(k), std::span(all).subspan(3 * first, 3 * (end - first)));
    if (!options.text && options.mode != Mode::legacy) {
      EXPECT_EQ(cost.bytes, 24 * sample().atoms);
    }
  }
}

void expect_back(const std::shared_ptr<storage::Storage>& storage, int ranks, bool is_legacy) {
  exec::run_local(ranks, 5, [&](exec::Transport& transport) {
    Snapshot snapshot = open(transport, storage, "run");
    EXPECT_TRUE(snapshot.notes().empty()) << snapshot.notes().front();
    ASSERT_EQ(snapshot.atoms(), sample().atoms);
    ASSERT_EQ(snapshot.frames().size(), 2U);
    ASSERT_EQ(snapshot.materials().size(), 2U);
    EXPECT_EQ(snapshot.materials()[0].moment_mub, 1.72);
    EXPECT_EQ(snapshot.materials()[1].moment_mub, 2.5);
    EXPECT_EQ(snapshot.materials()[1].element, "Fe");
    const auto [first, end] = share(snapshot.atoms(), transport.rank(), ranks);
    const Coordinates found = snapshot.read_coordinates(first, end - first);
    const Coordinates expected = part(first, end - first);
    EXPECT_EQ(found.material, expected.material);
    EXPECT_EQ(found.category, expected.category);
    EXPECT_EQ(found.xyz, expected.xyz);
    for (std::uint32_t k = 0; k < 2; ++k) {
      const Frame frame = snapshot.frame(k);
      EXPECT_EQ(frame.meta.time_s, k == 0 ? 1e-14 : 2e-14);
      EXPECT_EQ(frame.meta.field_t, (std::array{0.0, 0.0, 2.5}));
      EXPECT_EQ(frame.meta.temperature_k, 300);
      EXPECT_EQ(frame.meta.magnetisation[1], "-0.0010324");
      EXPECT_EQ(snapshot.legacy(), is_legacy);
      const auto& all = sample().spins[k];
      EXPECT_EQ(snapshot.read_spins(frame, first, end - first),
                std::vector<double>(all.begin() + 3 * first, all.begin() + 3 * end));
    }
  });
}

/// Writes on `ranks` ranks and reads back on another number. Returns what is there.
std::shared_ptr<MemoryStorage> round_trip(int ranks, const WriteOptions& options) {
  auto storage = storage::make_memory();
  exec::run_local(ranks, 11,
                  [&](exec::Transport& transport) { write_all(transport, storage, options); });
  expect_back(storage, ranks % 3 + 1, options.mode == Mode::legacy);
  return storage;
}

std::string text_of(const MemoryStorage& storage, const std::string& name) {
  const auto bytes = storage.contents("run/" + name);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// The line that counts the files, whose prefix VAMPIRE's converter cuts by its length.
std::string count_line(const MemoryStorage& storage, const std::string& meta, std::size_t line) {
  return lines_of(text_of(storage, meta)).at(line);
}

TEST(VampireWrite, FilePerProcess) {
  for (int ranks = 1; ranks <= 5; ++ranks) {
    for (const bool text : {false, true}) {
      const auto storage = round_trip(ranks, {.mode = Mode::file_per_process, .text = text});
      EXPECT_EQ(count_line(*storage, "spins-00000001.meta", 10),
                "Number of spin files: " + std::to_string(ranks));
      const std::string first = ranks == 1 ? "spins-00000001.data" : "spins-00000001-000000.data";
      EXPECT_TRUE(storage->exists("run/" + first));
    }
  }
}

TEST(VampireWrite, FilePerNodeIsAsManyFilesAsWasSaid) {
  for (int ranks = 1; ranks <= 5; ++ranks) {
    for (int nodes = 1; nodes <= ranks; ++nodes) {
      for (const bool text : {false, true}) {
        const auto storage =
            round_trip(ranks, {.mode = Mode::file_per_node, .text = text, .nodes = nodes});
        EXPECT_EQ(count_line(*storage, "spins-00000000.meta", 10),
                  "Number of spin files: " + std::to_string(nodes));
      }
    }
  }
}

TEST(VampireWrite, OneSharedFileHasTheSameBytesWhoeverWroteIt) {
  for (const bool text : {false, true}) {
    std::string alone;
    for (int ranks = 1; ranks <= 5; ++ranks) {
      const auto storage = round_trip(ranks, {.mode = Mode::mpi_io, .text = text});
      const std::string bytes = text_of(*storage, "spins-00000001.data");
      alone = alone.empty() ? bytes : alone;
      EXPECT_EQ(bytes, alone);
      EXPECT_EQ(count_line(*storage, "atoms-coords.meta", 5),
                text ? "Format: text" : "Format: binary");
    }
    if (!text) {
      EXPECT_EQ(alone.size(), 8 + 24 * sample().atoms);
    }
  }
}

TEST(VampireWrite, LegacyIsAFileARank) {
  for (int ranks = 1; ranks <= 5; ++ranks) {
    const auto storage = round_trip(ranks, {.mode = Mode::legacy});
    EXPECT_TRUE(storage->exists("run/atoms-00000001.cfg"));
    EXPECT_EQ(storage->exists("run/atoms-00001-00000001.cfg"), ranks > 1);
    EXPECT_EQ(storage->exists("run/atoms-coords-00001.cfg"), ranks > 1);
    EXPECT_FALSE(storage->exists("run/atoms-coords.meta"));
  }
}

TEST(VampireWrite, RowsOfFilesAsTheCallerSays) {
  for (const bool text : {false, true}) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
      const auto storage =
          round_trip(ranks, {.text = text, .rows_of_file = {0, 9, sample().atoms - 10, 1}});
      EXPECT_EQ(storage->contents("run/spins-00000000-000000.data").size(), text ? 2U : 8U);
      if (!text) {
        EXPECT_EQ(storage->contents("run/spins-00000000-000001.data").size(), 8U + 9 * 24);
      }
    }
  }
}

// The lines of the format page, without the date.
TEST(VampireWrite, MetasToTheLetter) {
  const auto storage = round_trip(3, {.mode = Mode::file_per_process, .text = true});
  auto coordinates = lines_of(text_of(*storage, "atoms-coords.meta"));
  ASSERT_EQ(coordinates.size(), 17U);
  EXPECT_EQ(coordinates[3].substr(0, 8), "# Date: ");
  coordinates[3].clear();
  const std::string rule = "#--------------------------------------------";
  EXPECT_EQ(coordinates, (std::vector<std::string>{
                             "#----------------------------------------------------------",
                             "# Atomistic coordinates configuration file for vampire V5+",
                             "#----------------------------------------------------------", "",
                             rule, "Format: text", rule, "Number of atoms: 23", rule,
                             "Number of materials: 2", "0\t1.72\tAg\tCo", "1\t2.5\tFe\tIron", rule,
                             "Number of coord files: 3", "atoms-coords-000000.data",
                             "atoms-coords-000001.data", "atoms-coords-000002.data"}));
  auto spins = lines_of(text_of(*storage, "spins-00000001.meta"));
  ASSERT_EQ(spins.size(), 15U);
  spins[3].clear();
  const std::string spin_rule = "#------------------------------------------------------";
  EXPECT_EQ(spins, (std::vector<std::string>{
                       spin_rule, "# Atomistic spin configuration file for vampire v5+", spin_rule,
                       "", spin_rule, "Time: 2e-14", "Field: 0\t0\t2.5", "Temperature: 300",
                       "Magnetisation: 0.6\t-0.0010324\t0.8", spin_rule, "Number of spin files: 3",
                       "spins-00000001-000000.data", "spins-00000001-000001.data",
                       "spins-00000001-000002.data", spin_rule}));
  EXPECT_EQ(lines_of(text_of(*storage, "atoms-coords-000000.data"))[0], "7");
}

TEST(VampireWrite, OldLongerFilesAreReplaced) {
  auto storage = storage::make_memory();
  const std::string old(100'000, 'x');
  for (const char* name : {"atoms-coords.data", "spins-00000000.data", "spins-00000000.meta"}) {
    storage->put(std::string("run/") + name, std::as_bytes(std::span(old)));
  }
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    write_all(transport, storage, {.mode = Mode::mpi_io});
  });
  EXPECT_EQ(storage->contents("run/spins-00000000.data").size(), 8 + 24 * sample().atoms);
  expect_back(storage, 2, false);
}

TEST(VampireWrite, NonMagneticAtomsComeBack) {
  for (const bool text : {false, true}) {
    auto storage = storage::make_memory();
    exec::run_local(3, 1, [&](exec::Transport& transport) {
      const WriteOptions options{.mode = Mode::file_per_node, .text = text, .nodes = 2};
      write_all(transport, storage, options);
      const auto [first, end] = share(11, transport.rank(), transport.size());
      write_non_magnetic(transport, storage, "run", part(first, end - first), options);
      Snapshot snapshot = open(transport, storage, "run");
      ASSERT_EQ(snapshot.non_magnetic_atoms(), 11U);
      const Coordinates found = snapshot.read_non_magnetic(first, end - first);
      EXPECT_EQ(found.xyz, part(first, end - first).xyz);
      EXPECT_EQ(found.material, part(first, end - first).material);
    });
    EXPECT_EQ(count_line(*storage, "non-magnetic-atoms.meta", 9), "Number of files: 2");
  }
}

TEST(VampireWrite, AMissingSpaceFailsOnEveryRankAndLeavesNoMeta) {
  for (const Mode mode : {Mode::file_per_process, Mode::mpi_io, Mode::file_per_node}) {
    auto memory = storage::make_memory();
    auto faults = std::make_shared<storage::Faults>();
    faults->add({.call = storage::Call::write,
                 .path_part = "spins-00000001",
                 .nth = 3,
                 .error_number = ENOSPC});
    const auto storage = std::make_shared<storage::FaultyStorage>(memory, faults);
    int failures = 0;
    exec::run_local(4, 1, [&](exec::Transport& transport) {
      try {
        write_all(transport, storage, {.mode = mode, .nodes = 2});
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::no_space);
        ++failures;
      }
    });
    EXPECT_EQ(failures, 4);
    EXPECT_FALSE(memory->exists("run/spins-00000001.meta"));
  }
}

TEST(VampireWrite, ALegacyHeaderNamesTheFilesOfAnyNumber) {
  auto storage = storage::make_memory();
  exec::run_local(2, 1, [&](exec::Transport& transport) {
    SnapshotWriter writer(transport, storage, "run", materials, 3, {.mode = Mode::legacy});
    writer.write_spins(123456789, meta_of(0), std::vector<double>(9, 0.5));
  });
  const auto lines = lines_of(text_of(*storage, "atoms-123456789.cfg"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "atoms-00001-123456789.cfg"), 1);
  EXPECT_TRUE(storage->exists("run/atoms-00001-123456789.cfg"));
}

TEST(VampireWrite, WhatIsDurableIsSyncedWithItsFolders) {
  for (const Mode mode : {Mode::legacy, Mode::mpi_io, Mode::file_per_process}) {
    for (const bool durable : {true, false}) {
      const auto log = std::make_shared<storage::Log>();
      const auto storage = std::make_shared<storage::RecordingStorage>(storage::make_memory(), log);
      exec::run_local(2, 1, [&](exec::Transport& transport) {
        write_all(transport, storage, {.mode = mode, .durable = durable});
      });
      // The last creation or rename in the folder comes before the last sync of it.
      bool is_run_synced = false;
      bool is_parent_synced = false;
      for (const storage::Record& record : log->records()) {
        if (record.call == storage::Call::create || record.call == storage::Call::rename) {
          is_run_synced = false;
        } else if (record.call == storage::Call::sync_directory) {
          is_run_synced = is_run_synced || record.path.starts_with("run/");
          is_parent_synced = is_parent_synced || record.path == "run";
        }
      }
      EXPECT_EQ(is_run_synced, durable) << mode_name(mode);
      EXPECT_EQ(is_parent_synced, durable) << mode_name(mode);
    }
  }
}

TEST(VampireWrite, ATextOfAMaterialThatEndsItsColumnIsRefused) {
  for (const Material& material :
       {Material{0, 1, "Fe\t9", "iron"}, Material{0, 1, "Fe", "iron\nNumber of coord files: 1"}}) {
    auto storage = storage::make_memory();
    exec::run_local(2, 1, [&](exec::Transport& transport) {
      EXPECT_THROW(SnapshotWriter(transport, storage, "run", {material}, 5, {}), Error);
    });
    EXPECT_TRUE(storage->paths().empty());
  }
}

TEST(VampireWrite, WrongLengthsAreRefusedTogether) {
  exec::run_local(3, 1, [&](exec::Transport& transport) {
    SnapshotWriter writer(transport, storage::make_memory(), "run", materials, 5, {});
    const std::vector<double> spins(transport.rank() == 1 ? 12 : 15);
    EXPECT_THROW(writer.write_spins(0, {}, spins), Error);
  });
}

}  // namespace
}  // namespace sluice::dialect::vampire
