// The price of a durable step in sync barriers, in order, and where the acknowledgement stands.
//
// SLUICE_LONG=1 also times steps on the disk, beside the same bytes and one sync (ratios only: the
// absolute numbers belong to this machine).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <thread>

#include "api/file_impl.hpp"
#include "crash/scenario.hpp"
#include "exec/local_transport.hpp"
#include "storage/scratch.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

using storage::Call;
using storage::Record;

/// The syncs between two acknowledgements; those that the ranks make at once count as one.
std::vector<std::string> barriers(const Recording& recording, std::size_t commit) {
  std::vector<std::string> names;
  std::set<int> ranks;  // of the last one
  const auto& records = recording.log->records();
  const std::size_t first = commit == 0 ? 0 : recording.acks[commit - 1];
  for (std::size_t r = first; r < recording.acks[commit]; ++r) {
    const Record& record = records[r];
    if (record.call != Call::sync && record.call != Call::sync_directory) {
      continue;
    }
    const std::string name = record.call == Call::sync_directory        ? "folder"
                             : record.path.ends_with(".sluice-journal") ? "journal"
                                                                        : "file";
    if (names.empty() || names.back() != name || ranks.contains(record.rank)) {
      names.push_back(name);
      ranks.clear();
    }
    ranks.insert(record.rank);
  }
  return names;
}

TEST(Barriers, OfADurableStep) {
  const auto scenario = std::find_if(scenarios().begin(), scenarios().end(),
                                     [](const auto& s) { return s.name == "fresh"; });
  for (const Row& row : rows()) {
    const Recording recording = record(*scenario, row, 5);
    using Names = std::vector<std::string>;
    // file: data and metadata under the temporary name; folder: no old journal comes back; folder:
    // the name.
    EXPECT_EQ(barriers(recording, 0), (Names{"file", "file", "folder", "folder"}));
    // Data; journal, with its name the first time: durable. Guard, runs, superblock: by a thread
    // where the storage allows one.
    EXPECT_EQ(barriers(recording, 1), (Names{"file", "journal", "folder", "file", "file", "file"}));
    EXPECT_EQ(barriers(recording, 2), (Names{"file", "journal", "file", "file", "file"}));
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double seconds_of(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// Median seconds of end() on the slowest of the ranks, which run one after another here: so the
/// bytes of all are written by one thread, as in the comparison.
double step_seconds(const storage::Scratch& scratch, Durability durability, std::uint64_t bytes,
                    int steps) {
  std::vector<double> seconds;
  const std::string path = scratch / "timed.h5";
  const auto storage = storage::make_posix();
  const std::uint64_t count = bytes / sizeof(double);
  const std::vector<double> values(count, 1.5);
  exec::run_local(crash_ranks, 1, [&](exec::Transport& transport) {
    Options options;
    options.strategy = "shared";
    options.durability = durability;
    File out(detail::open_on(transport, storage, path, Mode::write, options));
    const Variable v = out.define<double>("v", {count * crash_ranks}, {.steps = true});
    for (int i = 0; i < steps; ++i) {
      if (transport.rank() == 0) {
        // What a simulation would do between its steps; the thread has time to apply.
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      Step step = out.begin_step();
      step.put<double>(
          v, values.data(),
          {.start = {count * static_cast<std::uint64_t>(transport.rank())}, .count = {count}});
      transport.barrier();
      const double took = seconds_of([&] { step.end(); });
      if (transport.rank() == 0 && i > 1) seconds.push_back(took);
    }
    out.close();
  });
  std::filesystem::remove(path);
  return median(seconds);
}

double plain_seconds(const storage::Scratch& scratch, std::uint64_t bytes, int steps) {
  std::vector<double> seconds;
  const auto storage = storage::make_posix();
  const auto file = storage->open(scratch / "plain", storage::Access::create);
  const std::vector<std::byte> data(bytes, std::byte{1});
  for (int i = 0; i < steps; ++i) {
    seconds.push_back(seconds_of([&] {
      for (int rank = 0; rank < crash_ranks; ++rank) {
        file->write(static_cast<std::uint64_t>(i * crash_ranks + rank) * bytes, data);
      }
      file->sync();
    }));
  }
  std::filesystem::remove(scratch / "plain");
  return median(seconds);
}

TEST(Barriers, TimeOfADurableStep) {
  if (!is_long()) {
    GTEST_SKIP() << "times need a quiet machine: SLUICE_LONG=1";
  }
  const char* build = std::getenv("SLUICE_BUILD_DIR");
  const storage::Scratch scratch(build != nullptr ? build : "/tmp");
  for (const auto& [bytes, steps] : {std::pair{64ULL << 10, 25}, std::pair{64ULL << 20, 5}}) {
    const double plain = plain_seconds(scratch, bytes, steps);
    std::printf("4 x %llu KiB: the bytes and one sync: %.2f ms\n", bytes >> 10, plain * 1e3);
    for (const auto& [name, durability] :
         {std::pair{"step", Durability::step}, std::pair{"close", Durability::close},
          std::pair{"none", Durability::none}}) {
      const double took = step_seconds(scratch, durability, bytes, steps);
      std::printf("  durability %-5s end() %8.2f ms, ratio %.2f\n", name, took * 1e3, took / plain);
      EXPECT_GT(took, 0);
    }
  }
}

}  // namespace
}  // namespace sluice::test
