// T1: every disk that a crash may leave contains the last acknowledged step or the one after it,
// intact. With several steps in flight: one of those between the last acknowledged one and the last
// that was begun.
//
// SLUICE_LONG=1: all subsets of up to ten volatile calls, and a thousand random ones above.
// SLUICE_CRASH_SEED: another seed. SLUICE_CRASH_ROWS: only rows whose title holds this word.
// SLUICE_CRASH_REPORT: a file to which the counts are appended.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

#include "crash/oracle.hpp"
#include "support/names.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

/// Of every kind of file, in short runs too.
constexpr std::uint64_t fewest_images = 1000;

std::uint64_t base_seed() {
  const char* text = std::getenv("SLUICE_CRASH_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 20251120;
}

OracleOptions options(const Row& row, std::uint64_t seed) {
  OracleOptions options;
  if (!is_long()) {
    options.limits = {.all_up_to = 4, .random = 3, .pairs = 3, .torn = 3, .per_place = 2};
    // By what a disk costs to look at, and how many a run of the kind has.
    options.second_crash_every = row.is_set() && row.strategy != "file-per-process" ? 10 : 50;
    options.second_limits = {.all_up_to = 3, .random = 2, .pairs = 2, .torn = 2, .per_place = 3};
    if (!row.has_journal()) {
      options.limits = {.all_up_to = 6, .random = 8, .pairs = 8, .torn = 8, .per_place = 12};
    }
  } else {
    options.limits = {.all_up_to = 10, .random = 40, .pairs = 60, .torn = 12, .per_place = 75};
    options.second_crash_every = 400;
  }
  options.limits.seed = seed;
  return options;
}

/// Does a scenario say anything about a row, in a run of any length?
bool fits(const Row& row, const Scenario& scenario) {
  if (!scenario.format.empty() && scenario.format != row.format) {
    return false;
  }
  const bool has_journal = !row.is_store();
  if (scenario.fills_journal && !row.is_deferred) {
    return false;
  }
  return (has_journal || !scenario.spoil) && (row.strategy == "forward" || !scenario.one_by_one);
}

/// In short runs every scenario goes through one strategy of HDF5 files, of logs and of stores; the
/// others, layouts whose journal is that of HDF5 files, and sets of parts, whose many files take
/// long to look at, go through these, and the last two on until they have enough.
const std::set<std::string> enough_for_others{"fresh", "append", "restart", "in_flight", "mesh"};

bool is_left_out(const Row& row, const Scenario& scenario, std::uint64_t images) {
  const bool is_like_hdf5 = row.kind() == "netcdf4" || row.kind() == "grouped";
  const bool all = !row.is_set() && !row.is_deferred && row.strategy == "shared" && !is_like_hdf5;
  return !is_long() && !all && !enough_for_others.contains(scenario.name) &&
         (!(row.is_set() || is_like_hdf5) || images >= fewest_images);
}

struct Total {
  std::string title;
  Findings findings;
  double seconds = 0;
};

/// To the terminal, and to the file that SLUICE_CRASH_REPORT names.
void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  if (const char* path = std::getenv("SLUICE_CRASH_REPORT")) {
    std::ofstream(path, std::ios::app) << line << '\n';
  }
}

void say(const Total& total) {
  const OracleCounts& c = total.findings.counts;
  char line[400];
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::snprintf(line, sizeof line,
                "T1 %-34s %7llu disks %6llu repeated; plain: %6llu old %6llu new %6llu refused; "
                "%6llu replayed %6llu second crashes %4llu appended %4llu in flight; "
                "%zu violations, %.1f s",
                total.title.c_str(), number(c.disks), number(c.repeated), number(c.plain_old),
                number(c.plain_new), number(c.plain_refused), number(c.replayed),
                number(c.second_crashes), number(c.appended), number(c.in_flight),
                total.findings.violations.size(), total.seconds);
  say(line);
}

class CrashImages : public testing::TestWithParam<const char*> {
 protected:
  void examine_row(const Row& row, std::uint64_t seed) {
    for (const Scenario& scenario : scenarios()) {
      ++seed;  // each scenario of each row keeps its own
      if (!fits(row, scenario) || is_left_out(row, scenario, sum_.images())) {
        continue;
      }
      for (const Reach reach : {Reach::inode, Reach::rank}) {
        // Where one rank writes there is no difference. In short runs these and what is deferred
        // are on one node, whose rank 0 syncs what all have written; the others on four.
        const bool is_on_node = row.strategy == "serial" || row.is_deferred;
        if ((reach == Reach::rank) == is_on_node && (row.strategy == "serial" || !is_long())) {
          continue;
        }
        Row placed = row;
        placed.ranks_per_node = reach == Reach::rank ? 1 : 0;
        examine_run(row, scenario.name, record(scenario, placed, seed), reach, seed);
      }
    }
  }

  void examine_run(const Row& row, const std::string& scenario, const Recording& recording,
                   Reach reach, std::uint64_t seed) {
    const auto began = std::chrono::steady_clock::now();
    Total total;
    total.title = row.title() + " " + scenario + (reach == Reach::rank ? " by rank" : "");
    total.findings = examine(recording, reach, options(row, seed));
    total.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    for (const std::string& violation : total.findings.violations) {
      ADD_FAILURE() << total.title << " (seed " << seed << "): " << violation;
    }
    EXPECT_TRUE(!recording.is_in_flight || total.findings.counts.in_flight != 0)
        << total.title << ": no two steps were on their way at once";
    say(total);
    sum_ += total.findings.counts;
    violations_ += total.findings.violations.size();
  }

  OracleCounts sum_;
  std::size_t violations_ = 0;
};

TEST_P(CrashImages, HoldTheLastAcknowledgedStepOrTheNext) {
  const char* wanted_rows = std::getenv("SLUICE_CRASH_ROWS");
  std::vector<Row> all = rows();
  all.insert(all.end(), set_rows().begin(), set_rows().end());
  std::uint64_t seed = base_seed();
  for (const Row& row : all) {
    const bool is_wanted =
        wanted_rows == nullptr || row.title().find(wanted_rows) != std::string::npos;
    if (row.kind() == GetParam() && is_wanted) {
      examine_row(row, seed);
    }
    seed += scenarios().size();
  }
  say(std::string("T1 ") + GetParam() + ", seed " + std::to_string(base_seed()) + ": " +
      std::to_string(sum_.images()) + " images, " + std::to_string(violations_) + " violations");
  if (wanted_rows == nullptr) {
    EXPECT_GE(sum_.images(), fewest_images);
  }
}

// tests/crash/CMakeLists.txt has the same list.
INSTANTIATE_TEST_SUITE_P(Kinds, CrashImages,
                         testing::Values("hdf5", "netcdf4", "grouped", "records", "zarr",
                                         "rectilinear", "icechunk", "file-per-process",
                                         "file-per-node", "keep", "split", "vtkhdf"),
                         [](const auto& named) { return test_name(named.param); });

}  // namespace
}  // namespace sluice::test
