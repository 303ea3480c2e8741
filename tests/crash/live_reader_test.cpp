// A plain libhdf5 beside the writer, no crash: after every storage call of a run, including those
// that apply a journal, it opens the file and sees the committed state or the previous one,
// exactly, or it is refused. One that had opened the file before gets, from each array, the values
// before the commit, those after it, or an error; never anything else.
//
// SLUICE_LONG=1: at more pairs of moments.
#define H5_USE_110_API
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <map>
#include <optional>
#include <random>

#include "crash/disk.hpp"
#include "crash/scenario.hpp"
#include "storage/scratch.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

constexpr std::uint64_t seed = 815;

struct Cell {
  Row row;
  std::string scenario;
};

std::vector<Cell> cells() {
  std::vector<Cell> all;
  for (const Row& row :
       {Row{"shared"}, Row{"shared", "netcdf4"}, Row{"shared", "hdf5", "grouped"}}) {
    for (const Scenario& scenario : scenarios()) {
      if (!scenario.one_by_one && scenario.format.empty()) {
        all.push_back({row, scenario.name});
      }
    }
  }
  return all;
}

Recording recording_of(const Cell& cell) {
  return record(scenario_named(cell.scenario), cell.row, seed);
}

/// Are plain readers locked out while a journal is applied?
bool is_guarded(const Bytes& file) { return !file.empty() && file[0] == std::byte{0}; }

/// The file after each call of a run; empty if it does not exist.
template <class Visit>
void visit_file(const Recording& recording, Visit&& visit) {
  CrashDisks disks(recording.base, recording.log->records(), Reach::inode, {});
  disks.visit_live([&](const CrashDisk& disk) {
    const auto found = disk.files.find(crash_path);
    visit(disk.place, found == disk.files.end() ? nullptr : found->second);
  });
}

struct Sights {
  std::size_t seen = 0;
  std::size_t guarded = 0;  ///< while a journal was being applied
  std::size_t refused = 0;
};

/// What is wrong with the view of a fresh reader after each call, or "".
std::string look_at_all(const Recording& recording, Sights& sights) {
  std::size_t state = 0;
  std::string problem;
  visit_file(recording, [&](std::size_t place, const std::shared_ptr<const Bytes>& file) {
    if (!file || !problem.empty()) {
      return;
    }
    const std::string when = "after call " + std::to_string(place) + ": ";
    sights.guarded += is_guarded(*file) ? 1 : 0;
    std::optional<Snapshot> found;
    try {
      found = plain_snapshot(*file);
    } catch (const std::exception& e) {
      problem = when + e.what();
      return;
    }
    if (!found) {
      ++sights.refused;
      problem = is_guarded(*file) ? "" : when + "refused, and no journal is being applied";
      return;
    }
    ++sights.seen;
    // Only forwards, and over at most one change.
    const Snapshot before = recording.golden[state].plain.value_or(Snapshot{});
    int changes = 0;
    while (recording.golden[state].plain != found && state + 1 < recording.golden.size()) {
      changes += recording.golden[state + 1].plain != recording.golden[state].plain ? 1 : 0;
      ++state;
    }
    if (recording.golden[state].plain != found || changes > 1) {
      problem = when + "neither the state before nor the next:" + difference(before, *found);
    }
  });
  return problem.empty() && state + 1 < recording.golden.size() &&
                 recording.golden[state].plain != recording.golden.back().plain
             ? "the last state was never seen"
             : problem;
}

TEST(LiveReader, SeesTheOldStateOrTheNewOneOrIsRefused) {
  std::map<std::string, Sights> all;
  for (const Cell& cell : cells()) {
    Sights& sights = all[cell.row.title()];
    EXPECT_EQ(look_at_all(recording_of(cell), sights), "")
        << cell.row.title() << " " << cell.scenario;
  }
  for (const auto& [title, sights] : all) {
    EXPECT_GT(sights.guarded, 100U) << title;
    std::printf(
        "T1b %s: libhdf5 opened the file after each of %zu storage calls, %zu of them while "
        "a journal was applied: %zu times the old state or the new one, %zu times refused\n",
        title.c_str(), sights.seen + sights.refused, sights.guarded, sights.seen, sights.refused);
  }
}

// -- a reader that has the file open --------------------------------------------------------------

using Values = std::map<std::string, std::vector<char>>;  // by name of an array

/// Not Sluice's own log of commits, whose rows carry checksums: while steps are dropped, a row of
/// it may be gone before the log is shorter.
herr_t note_dataset(hid_t, const char* name, const H5O_info_t* info, void* data) {
  if (info->type == H5O_TYPE_DATASET && !std::string(name).starts_with("sluice/")) {
    (*static_cast<Values*>(data))[name];
  }
  return 0;
}

/// The bytes of an open array; nothing where libhdf5 refuses. Numbers only.
std::optional<std::vector<char>> values_of_dataset(hid_t dataset) {
  const hid_t type = H5Dget_type(dataset);
  const hid_t space = H5Dget_space(dataset);
  std::optional<std::vector<char>> values;
  const hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
  if (type >= 0 && count >= 0) {
    values.emplace(static_cast<std::size_t>(count) * H5Tget_size(type));
    char none = 0;
    void* out = values->empty() ? &none : values->data();
    if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) < 0) {
      values.reset();
    }
  }
  H5Sclose(space);
  H5Tclose(type);
  return values;
}

struct Outcomes {
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t errors = 0;
  std::string problem;
};

/// One commit, as the file goes through it: whole before, guarded in between, whole after.
class Window {
 public:
  Window(std::vector<std::shared_ptr<const Bytes>> moments, std::string path)
      : moments_(std::move(moments)), path_(std::move(path)) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc);
    before_ = read_all(0);
    after_ = read_all(moments_.size() - 1);
  }

  /// Opens the file before the commit, its arrays at one moment, and reads them at a later one; at
  /// most `most` such pairs of moments, drawn from `random`.
  void look(std::size_t most, std::mt19937_64& random, Outcomes& outcomes) {
    std::vector<Reader> readers;
    for (std::size_t opened = 0; opened < moments_.size(); ++opened) {
      for (std::size_t read = opened; read < moments_.size(); ++read) {
        readers.push_back({opened, read, false});
        readers.push_back({opened, read, true});
      }
    }
    std::shuffle(readers.begin(), readers.end(), random);
    readers.resize(std::min(readers.size(), most));
    for (const Reader& reader : readers) {
      if (outcomes.problem.empty()) {
        look(reader, outcomes);
      }
    }
  }

 private:
  struct Reader {
    std::size_t opened = 0;
    std::size_t read = 0;
    bool is_warm = false;  ///< has read everything before, so libhdf5 holds old metadata
  };

  /// The same inode: readers that have it open see the change.
  void put(std::size_t moment) {
    const Bytes& bytes = *moments_[moment];
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file.close();
    std::filesystem::resize_file(path_, bytes.size());
  }

  Values read_all(std::size_t moment) {
    put(moment);
    Values values;
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, note_dataset, &values);
    for (auto& [name, bytes] : values) {
      const hid_t dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
      bytes = values_of_dataset(dataset).value_or(std::vector<char>{});
      H5Dclose(dataset);
    }
    H5Fclose(file);
    return values;
  }

  void look(const Reader& reader, Outcomes& outcomes) {
    put(0);
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    ASSERT_GE(file, 0);
    for (const auto& [name, bytes] : before_) {
      if (reader.is_warm) {
        const hid_t dataset = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
        values_of_dataset(dataset);
        H5Dclose(dataset);
      }
    }
    put(reader.opened);
    std::map<std::string, hid_t> datasets;
    for (const auto& [name, bytes] : after_) {
      datasets[name] = H5Dopen2(file, name.c_str(), H5P_DEFAULT);
    }
    put(reader.read);
    for (const auto& [name, dataset] : datasets) {
      judge(name, dataset < 0 ? std::nullopt : values_of_dataset(dataset), outcomes);
      if (!outcomes.problem.empty()) {
        outcomes.problem += ", opened at moment " + std::to_string(reader.opened) + ", read at " +
                            std::to_string(reader.read) + " of " +
                            std::to_string(moments_.size() - 1) +
                            (reader.is_warm ? ", read before" : "");
        return;
      }
      H5Dclose(dataset);
    }
    H5Fclose(file);
  }

  void judge(const std::string& name, const std::optional<std::vector<char>>& found,
             Outcomes& outcomes) const {
    const auto old = before_.find(name);
    if (!found) {
      ++outcomes.errors;
    } else if (old != before_.end() && *found == old->second) {
      ++outcomes.before;
    } else if (*found == after_.at(name)) {
      ++outcomes.after;
    } else {
      outcomes.problem = name + " has values of neither state";
    }
  }

  std::vector<std::shared_ptr<const Bytes>> moments_;
  std::string path_;
  Values before_;
  Values after_;
};

/// The commits of a run that were applied to a file with a name.
std::vector<std::vector<std::shared_ptr<const Bytes>>> windows_of(const Recording& recording) {
  std::vector<std::vector<std::shared_ptr<const Bytes>>> windows;
  std::shared_ptr<const Bytes> last;
  bool is_open = false;
  visit_file(recording, [&](std::size_t, const std::shared_ptr<const Bytes>& file) {
    if (file && is_guarded(*file) && !is_open) {
      windows.push_back({last});
    }
    if (file && (is_guarded(*file) || is_open)) {
      windows.back().push_back(file);
    }
    is_open = file && is_guarded(*file);
    last = file;
  });
  return windows;
}

TEST(LiveReader, ThatHasTheFileOpenGetsTheOldValuesTheNewOnesOrAnError) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const storage::Scratch scratch;
  const std::size_t most = is_long() ? 1000 : 24;
  std::mt19937_64 random(seed);
  std::map<std::string, Outcomes> all;
  std::size_t windows = 0;
  for (const Cell& cell : cells()) {
    if (cell.scenario == "restart") {
      continue;  // a reader with an open array may see fill values while its steps are dropped
    }
    Outcomes& outcomes = all[cell.row.title()];
    for (auto& moments : windows_of(recording_of(cell))) {
      const std::string path = scratch / ("live" + std::to_string(windows++) + ".h5");
      Window(std::move(moments), path).look(most, random, outcomes);
      std::filesystem::remove(path);
      ASSERT_EQ(outcomes.problem, "") << cell.row.title() << " " << cell.scenario;
    }
  }
  for (const auto& [title, outcomes] : all) {
    EXPECT_GT(outcomes.before, 0U);
    std::printf(
        "T1b %s: libhdf5 with the file open read %zu arrays while a journal was applied: "
        "%zu times the old values, %zu times the new ones, %zu errors\n",
        title.c_str(), outcomes.before + outcomes.after + outcomes.errors, outcomes.before,
        outcomes.after, outcomes.errors);
  }
}

}  // namespace
}  // namespace sluice::test
