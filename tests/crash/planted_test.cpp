// T17: the crash images can fail: they catch every planted bug, and the unmodified library passes
// the very same images.
//
// SLUICE_LONG=1: also those that thousands of disks are needed for.
// SLUICE_CRASH_BUGS: only bugs whose name holds this word.
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>

#include "crash/buggy.hpp"
#include "crash/oracle.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

constexpr std::uint64_t seed = 4711;

OracleOptions options(const Planted& planted) {
  OracleOptions options;
  options.limits = {
      .all_up_to = 6, .random = 4, .pairs = 4, .torn = 12, .per_place = 8, .seed = seed};
  options.second_crash_every = planted.in_recovery ? 4 : 50;
  options.second_limits = {.all_up_to = 6, .random = 4, .pairs = 4, .torn = 4, .per_place = 8};
  options.append_every = 1000000;
  options.most_violations = 1;
  const bool is_set = planted.keep != 0 || planted.strategy != "shared";
  options.most_disks = is_set ? 900 : 1500;  // those of a set take longer to look at
  if (planted.bug == Bug::none && !is_long()) {
    options.most_disks = is_set ? 100 : 200;  // most bugs are caught by then
  }
  if (planted.bug == Bug::recovery_trusts) {
    // It needs a tear of a late record, and no second crash.
    options.limits.torn = options.limits.per_place = 40;
    options.most_disks = 9000;
    options.second_crash_every = 1000;
  }
  if (planted.scenario == "many_steps") {
    options.most_disks = 20000;  // the journal begins anew after many of them
    options.limits.per_place = 2;
    options.second_crash_every = 50;  // recovery makes hundreds of calls there
  }
  if (planted.in_recovery) {
    options.wrap_recovery = [bug = planted.bug](auto inner, int rank) {
      return plant(std::move(inner), make_bug(bug), rank);
    };
  }
  return options;
}

/// The first thing that is wrong with a run, or "".
std::string violation_of(const Planted& planted) {
  const Scenario& scenario = scenario_named(planted.scenario);
  for (const Reach reach : {Reach::inode, Reach::rank}) {
    Wrap wrap;
    if (!planted.in_recovery) {
      wrap = [bug = make_bug(planted.bug)](auto inner, int rank) {
        return plant(std::move(inner), bug, rank);
      };
    }
    Findings findings;
    try {
      const Row row{.strategy = planted.strategy,
                    .format = planted.format,
                    .keep = planted.keep,
                    .is_deferred = planted.is_deferred,
                    .ranks_per_node = reach == Reach::rank ? 1 : 0};
      const Recording recording = record(scenario, row, seed, wrap);
      findings = examine(recording, reach, options(planted));
    } catch (const std::exception& e) {
      return std::string("the run itself: ") + e.what();
    }
    if (!findings.violations.empty()) {
      return std::string(reach == Reach::rank ? "by rank, " : "") + "disk " +
             std::to_string(findings.counts.disks) + ": " + findings.violations[0];
    }
  }
  return "";
}

bool needs_many_disks(const Planted& planted) {
  return planted.bug == Bug::recovery_trusts || planted.scenario == "many_steps";
}

bool is_wanted(const Planted& planted) {
  const char* wanted = std::getenv("SLUICE_CRASH_BUGS");
  if (wanted != nullptr) {
    return planted.name.find(wanted) != std::string::npos;
  }
  return is_long() || !needs_many_disks(planted);
}

TEST(PlantedBugs, AreCaught) {
  int caught = 0;
  int planted_in_all = 0;
  for (const Planted& planted : planted_bugs()) {
    if (!is_wanted(planted)) {
      continue;
    }
    ++planted_in_all;
    const std::string violation = violation_of(planted);
    EXPECT_NE(violation, "") << planted.name << " was not caught";
    caught += violation.empty() ? 0 : 1;
    std::printf("T17 %-45s %s\n", planted.name.c_str(),
                violation.empty() ? "NOT CAUGHT" : violation.substr(0, 160).c_str());
    std::fflush(stdout);
  }
  std::printf("T17 %d of %d caught\n", caught, planted_in_all);
}

TEST(PlantedBugs, TheSameImagesWithoutABugHoldNothingWrong) {
  EXPECT_EQ(violation_of({Bug::none, "none"}), "");
  EXPECT_EQ(violation_of({Bug::none, "none", false, "strange_journal"}), "");
  EXPECT_EQ(violation_of({Bug::none, "none", true}), "");
  EXPECT_EQ(violation_of(Planted{.bug = Bug::none, .name = "none", .is_deferred = true}), "");
  EXPECT_EQ(violation_of({Bug::none, "none", false, "fresh", "zarr"}), "");
  EXPECT_EQ(violation_of({Bug::none, "none", false, "replace", "zarr"}), "");
  EXPECT_EQ(violation_of({Bug::none, "none", false, "fresh", "icechunk"}), "");
  EXPECT_EQ(violation_of({Bug::none, "none", false, "fresh", "records"}), "");
  EXPECT_EQ(violation_of({Bug::none, "none", false, "fresh", "hdf5", "file-per-process"}), "");
  EXPECT_EQ(violation_of({Bug::none, "none", false, "fresh", "hdf5", "shared", 2}), "");
}

}  // namespace
}  // namespace sluice::test
