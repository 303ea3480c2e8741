// The sync barriers of a durable step, in order, and the position of the acknowledgement.
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
#include <mutex>
#include <set>
#include <thread>

#include "api/file/file_impl.hpp"
#include "crash/scenario.hpp"
#include "storage/forwarding.hpp"
#include "storage/scratch.hpp"
#include "support/local_transport.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

using storage::Call;
using storage::Record;

using Names = std::vector<std::string>;

struct Sync {
  int rank = 0;
  std::string name;
};

std::string name_of(Call call, const std::string& path) {
  return call == Call::sync_directory        ? "folder"
         : path.ends_with(".sluice-journal") ? "journal"
                                             : "file";
}

/// In order; calls that the ranks make at the same time count as one.
Names barriers(const std::vector<Sync>& syncs) {
  Names names;
  std::set<int> ranks;  // of the last one
  for (const auto& [rank, name] : syncs) {
    if (names.empty() || names.back() != name || ranks.contains(rank)) {
      names.push_back(name);
      ranks.clear();
    }
    ranks.insert(rank);
  }
  return names;
}

/// Between two acknowledgements.
Names barriers(const Recording& recording, std::size_t commit) {
  std::vector<Sync> syncs;
  const auto& records = recording.log->records();
  const std::size_t first = commit == 0 ? 0 : recording.acks[commit - 1];
  for (std::size_t r = first; r < recording.acks[commit]; ++r) {
    const Record& record = records[r];
    if (record.call == Call::sync || record.call == Call::sync_directory) {
      syncs.push_back({record.rank, name_of(record.call, record.path)});
    }
  }
  return barriers(syncs);
}

/// For the thread that waits in Step::end(): where its syncs are recorded.
thread_local std::vector<Sync>* waited_for = nullptr;
std::mutex waited_for_mutex;

class WatchedFile final : public storage::ForwardingFile {
 public:
  WatchedFile(std::unique_ptr<File> file, int rank)
      : ForwardingFile(std::move(file)), rank_(rank) {}
  void sync() override {
    note({rank_, name_of(Call::sync, path())});
    inner().sync();
  }

  static void note(const Sync& sync) {
    if (waited_for != nullptr) {
      const std::lock_guard lock(waited_for_mutex);
      waited_for->push_back(sync);
    }
  }

 private:
  const int rank_;
};

/// Like a real one, it accepts writes of a library thread while the caller's continues.
class BackgroundStorage final : public storage::RecordingStorage {
 public:
  BackgroundStorage(std::shared_ptr<Storage> inner, std::shared_ptr<storage::Log> log, int rank)
      : RecordingStorage(std::move(inner), std::move(log), rank), rank_(rank) {}
  std::unique_ptr<storage::File> open(const std::string& path, storage::Access access) override {
    return std::make_unique<WatchedFile>(RecordingStorage::open(path, access), rank_);
  }
  void sync_directory(const std::string& path) override {
    WatchedFile::note({rank_, name_of(Call::sync_directory, path)});
    RecordingStorage::sync_directory(path);
  }
  bool in_background() const override { return true; }

 private:
  const int rank_;
};

/// Those for which Step::end() waits, step by step, where the simulation computes between its
/// steps; `all`: those of the whole run, by the log.
std::vector<Names> barriers_waited_for(const Row& row, std::size_t steps, std::uint64_t& all) {
  const auto disk = storage::make_memory();
  const auto log = std::make_shared<storage::Log>();
  std::vector<std::vector<Sync>> found(steps);
  exec::run_local(crash_ranks, 1, [&](exec::Transport& transport) {
    const int rank = transport.rank();
    const auto storage = std::make_shared<BackgroundStorage>(disk, log, rank);
    Options options = row.options();
    options.apply_every_s = 0;
    File out(detail::open_on(transport, storage, crash_path, Mode::write, options));
    const Variable v = out.define<double>("density", {4 * 8192}, {.steps = true});
    const std::vector<double> own(8192, 1.5);
    for (std::size_t i = 0; i < steps; ++i) {
      Step step = out.begin_step();
      step.put<double>(v, own.data(),
                       {.start = {8192 * static_cast<std::uint64_t>(rank)}, .count = {8192}});
      waited_for = &found[i];
      Ticket ticket = step.end();
      waited_for = nullptr;
      ticket.wait();
      EXPECT_TRUE(ticket.durable());
    }
    out.close();
  });
  std::vector<Names> names;
  for (const std::vector<Sync>& syncs : found) names.push_back(barriers(syncs));
  all = log->totals().syncs;
  return names;
}

/// A store has no journal: what a step makes (shards, its rows of the logs, documents, and the
/// folders of each) is synced one by one. Not more than one step's objects, however many there
/// were.
void expect_few_of_a_store(const std::vector<Names>& steps, const std::string& title) {
  for (const Names& names : steps) {
    EXPECT_GE(names.size(), 4u) << title;
    EXPECT_LE(names.size(), 20u) << title;
    EXPECT_LE(names.size(), steps[0].size()) << title;
  }
}

/// 4 x 64 KiB, on one node: the journal, and beside it, by another thread, the data; the rest is
/// done by a thread, and is done.
TEST(Barriers, OnTheCriticalPathOfASmallStep) {
  for (const Row& row : rows()) {
    std::uint64_t three = 0;
    std::uint64_t four = 0;
    barriers_waited_for(row, 3, three);
    const std::vector<Names> steps = barriers_waited_for(row, 4, four);
    if (row.strategy == "forward") {
      for (const Names& names : steps) EXPECT_EQ(names, Names{}) << row.title();
      continue;  // durable in the background
    }
    if (row.is_store()) {
      expect_few_of_a_store(steps, row.title());
      continue;
    }
    if (!row.has_journal()) {
      // Data and entry; then the root, and it is done.
      EXPECT_EQ(steps[0], (Names{"file", "folder"})) << row.title();
      for (std::size_t i = 1; i < 4; ++i) {
        EXPECT_EQ(steps[i], (Names{"file", "file"})) << row.title();
      }
      continue;
    }
    EXPECT_EQ(steps[0], (Names{"file", "folder"})) << row.title();
    EXPECT_EQ(steps[1], (Names{"journal", "folder"})) << row.title();
    EXPECT_EQ(steps[2], Names{"journal"}) << row.title();
    EXPECT_EQ(steps[3], Names{"journal"}) << row.title();
    EXPECT_GE(four - three, 5U) << row.title() << ": data, journal, guard, runs, superblock";
  }
}

TEST(Barriers, OfADurableStep) {
  for (const Row& row : rows()) {
    if (row.is_store()) {
      continue;  // counted above: the order of objects does not matter
    }
    // On four nodes each writer syncs what it wrote; on one of them rank 0 syncs what all wrote.
    for (const int ranks_per_node : {1, 0}) {
      Row placed = row;
      placed.ranks_per_node = ranks_per_node;
      const Recording recording = record(scenario_named("fresh"), placed, 5);
      const bool is_small = ranks_per_node == 0 && row.compress.empty();
      // In the background rank 0 syncs its data, and the metadata when all data is there.
      const std::size_t more = row.strategy == "forward" ? 2 : 1;
      const std::string title = row.title() + (is_small ? " on one node" : "");
      const std::size_t earlier = is_small ? 0 : more;  // of the writers
      const auto after_data = [&](Names names, std::size_t syncs) {
        names.insert(names.begin(), syncs, "file");
        return names;
      };
      // The metadata under the temporary name; the name, which was free.
      EXPECT_EQ(barriers(recording, 0), after_data({"file", "folder"}, earlier)) << title;
      if (!row.has_journal()) {
        EXPECT_EQ(barriers(recording, 1), after_data({"file"}, more)) << title;
        EXPECT_EQ(barriers(recording, 2), after_data({"file"}, more)) << title;
        continue;
      }
      // The journal, with its name the first time, and the data of a small step: durable. Guard,
      // runs, superblock: by a thread where the storage allows one, or later.
      Names first{"journal"};
      first.insert(first.end(), is_small ? 1 : 0, "file");
      Names second = first;
      first.push_back("folder");
      first.insert(first.end(), row.is_deferred ? 0 : 3, "file");
      second.insert(second.end(), row.is_deferred ? 0 : 3, "file");
      EXPECT_EQ(barriers(recording, 1), after_data(first, earlier)) << title;
      EXPECT_EQ(barriers(recording, 2), after_data(second, earlier)) << title;
    }
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
        // The computation of a simulation between its steps; the thread has time to apply.
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
