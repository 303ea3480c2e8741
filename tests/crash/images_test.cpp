// T1: every disk that a crash may leave holds the last acknowledged step or the one after, whole.
//
// SLUICE_LONG=1: all subsets of up to ten volatile calls, and a thousand random ones above.
// SLUICE_CRASH_SEED: another seed. SLUICE_CRASH_ROWS: only rows whose title holds this word.
// SLUICE_CRASH_REPORT: a file to which the counts are appended.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

#include "crash/oracle.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

std::uint64_t base_seed() {
  const char* text = std::getenv("SLUICE_CRASH_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 20251120;
}

OracleOptions options() {
  OracleOptions options;
  if (!is_long()) {
    options.limits = {.all_up_to = 4, .random = 3, .pairs = 3, .torn = 3, .per_place = 2};
    options.second_crash_every = 50;
    options.second_limits = {.all_up_to = 3, .random = 2, .pairs = 2, .torn = 2, .per_place = 3};
  } else {
    options.limits = {.all_up_to = 10, .random = 40, .pairs = 60, .torn = 12, .per_place = 75};
    options.second_crash_every = 400;
  }
  return options;
}

/// In short runs every scenario goes through one strategy of each layout; the others, and sets of
/// parts, whose many files take long to look at, go through these.
const std::set<std::string> enough_for_others{"fresh", "append", "restart"};

bool is_left_out(const Row& row, const Scenario& scenario) {
  const bool all = !row.is_set() && row.strategy == "shared";
  return !is_long() && !all && !enough_for_others.contains(scenario.name);
}

struct Total {
  std::string title;
  Findings findings;
  double seconds = 0;
};

/// On the screen, and in the file that SLUICE_CRASH_REPORT names.
void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  if (const char* path = std::getenv("SLUICE_CRASH_REPORT")) {
    std::ofstream(path, std::ios::app) << line << '\n';
  }
}

void say(const Total& total) {
  const OracleCounts& c = total.findings.counts;
  char line[300];
  const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::snprintf(line, sizeof line,
                "T1 %-34s %7llu disks %6llu repeated; plain: %6llu old %6llu new %6llu refused; "
                "%6llu replayed %6llu second crashes %4llu appended; %zu violations, %.1f s",
                total.title.c_str(), number(c.disks), number(c.repeated), number(c.plain_old),
                number(c.plain_new), number(c.plain_refused), number(c.replayed),
                number(c.second_crashes), number(c.appended), total.findings.violations.size(),
                total.seconds);
  say(line);
}

TEST(CrashImages, HoldTheLastAcknowledgedStepOrTheNext) {
  OracleCounts sum;
  std::size_t violations = 0;
  std::uint64_t seed = base_seed();
  const char* wanted_rows = std::getenv("SLUICE_CRASH_ROWS");
  std::vector<Row> all = rows();
  all.insert(all.end(), set_rows().begin(), set_rows().end());
  for (const Row& row : all) {
    if (wanted_rows != nullptr && row.title().find(wanted_rows) == std::string::npos) {
      seed += scenarios().size();  // each row keeps its seeds
      continue;
    }
    for (const Scenario& scenario : scenarios()) {
      if (row.is_store() && scenario.spoil) {
        ++seed;
        continue;  // a store has no journal
      }
      if (is_left_out(row, scenario)) {
        ++seed;
        continue;
      }
      const Recording recording = record(scenario, row, ++seed);
      for (const Reach reach : {Reach::inode, Reach::rank}) {
        if ((reach == Reach::rank) == (row.strategy == "serial") &&
            (row.strategy == "serial" || !is_long())) {
          continue;  // one rank writes: there is no difference; else the harder one is enough
        }
        OracleOptions wanted = options();
        wanted.limits.seed = seed;
        if (row.is_set() && !is_long()) {
          wanted.limits.per_place = 1;
        }
        const auto began = std::chrono::steady_clock::now();
        Total total;
        total.title = row.title() + " " + scenario.name + (reach == Reach::rank ? " by rank" : "");
        total.findings = examine(recording, reach, wanted);
        total.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        for (const std::string& violation : total.findings.violations) {
          ADD_FAILURE() << total.title << " (seed " << seed << "): " << violation;
        }
        say(total);
        sum += total.findings.counts;
        violations += total.findings.violations.size();
      }
    }
  }
  say("T1 seed " + std::to_string(base_seed()) + ": " + std::to_string(sum.disks) + " disks, " +
      std::to_string(sum.second_crashes) + " second crashes, " + std::to_string(violations) +
      " violations");
  EXPECT_GE(sum.disks, is_long() && wanted_rows == nullptr ? 100000u : 2000u);
}

}  // namespace
}  // namespace sluice::test
