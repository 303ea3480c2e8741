// Checkpoint with scratch: what a crash leaves on two kinds of storage, of which one may be lost,
// while checkpoints are written on the nodes and drained to the folder of the file.
//
// SLUICE_LONG=1: many more images.
#include <cstdio>
#include <cstdlib>

#include "checkpoint/states.hpp"
#include "crash/disk.hpp"
#include "storage/recording.hpp"
#include "support/forwarding_storage.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

const std::string node_folder = "node";

CheckpointOptions with_scratch(std::uint64_t keep = 2) {
  CheckpointOptions options;
  options.keep = keep;
  options.scratch = node_folder;
  options.file.ranks_per_node = 1;  // each rank has storage of its own
  return options;
}

bool is_on_node(const std::string& path) { return path.rfind(node_folder + "/", 0) == 0; }

std::size_t parts_on_nodes(const storage::MemoryStorage& storage) {
  const auto paths = storage.paths();
  return static_cast<std::size_t>(std::count_if(paths.begin(), paths.end(), is_on_node));
}

std::shared_ptr<storage::MemoryStorage> without_nodes(const storage::MemoryStorage& storage) {
  auto left = storage.clone();
  for (const std::string& path : left->paths()) {
    if (is_on_node(path)) {
      left->remove(path);
    }
  }
  return left;
}

// -- what is drained when
// ---------------------------------------------------------------------------

TEST(Scratch, ACheckpointIsOnTheNodesUntilItIsDrained) {
  const auto storage = storage::make_memory();
  on_ranks(3, [&](exec::Transport& transport) {
    Checkpoint checkpoint = open_checkpoint(transport, storage, with_scratch());
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint);
    checkpoint.restore();
    for (std::uint64_t key = 1; key <= 5; ++key) {
      state.set(key);
      ASSERT_TRUE(checkpoint.save(0.5 * static_cast<double>(key)));
      transport.barrier();
      EXPECT_EQ(parts_on_nodes(*storage), 3u) << "one checkpoint, of each node a part";
      transport.barrier();
    }
    EXPECT_TRUE(checkpoint.drain(10));
    transport.barrier();
    EXPECT_EQ(parts_on_nodes(*storage), 0u);
    checkpoint.close();
  });
  expect_restored(2, storage, 5, 5, 3);
}

TEST(Scratch, ARestartOnTheSameNodesFindsTheLocalOneAndElsewhereTheDrainedOne) {
  const auto storage = storage::make_memory();
  std::shared_ptr<storage::MemoryStorage> killed;
  on_ranks(3, [&](exec::Transport& transport) {
    Checkpoint checkpoint = open_checkpoint(transport, storage, with_scratch());
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint);
    for (const std::uint64_t key : {1, 2}) {
      state.set(key);
      ASSERT_TRUE(checkpoint.save(0.5 * static_cast<double>(key)));
    }
    transport.barrier();
    if (transport.rank() == 0) {
      killed = storage->clone();
    }
    transport.barrier();
    checkpoint.close();
  });
  const auto elsewhere = without_nodes(*killed);
  expect_restored(2, killed, 2, 2, 3);
  EXPECT_EQ(parts_on_nodes(*killed), 0u) << "restoring drains";
  expect_restored(2, elsewhere, 1, 1, 3, 1);
  save_keys(2, elsewhere, {3, 4}, with_scratch());
  expect_restored(3, elsewhere, 3, 4, 2);
}

TEST(Scratch, WhatCannotBeIsRefused) {
  const auto storage = storage::make_memory();
  const auto refusal = [&](const CheckpointOptions& options, const std::string& why) {
    expect_everywhere(
        errors_on_ranks(
            2, [&](exec::Transport& transport) { open_checkpoint(transport, storage, options); }),
        Code::invalid_argument, {"scratch", why});
  };
  refusal(with_scratch(0), "keep");
  CheckpointOptions options = with_scratch();
  options.file.strategy = "collective";
  refusal(options, "collective");
  options = with_scratch();
  options.scratch = "$SLUICE_NO_SUCH_VARIABLE/x";
  refusal(options, "SLUICE_NO_SUCH_VARIABLE");
  ::setenv("SLUICE_TEST_NODE", "node", 1);
  EXPECT_EQ(detail::with_environment("$SLUICE_TEST_NODE/a${SLUICE_TEST_NODE}b"), "node/anodeb");
  options.scratch = "${SLUICE_TEST_NODE";
  refusal(options, "SLUICE_TEST_NODE");
}

TEST(Scratch, AForeignFileInTheWayStaysAndTheRunGoesOn) {
  const auto storage = storage::make_memory();
  std::string blocked;
  on_ranks(2, [&](exec::Transport& transport) {
    CheckpointOptions options = with_scratch();
    options.file.log = Log::off;
    Checkpoint checkpoint = open_checkpoint(transport, storage, options);
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint);
    state.set(1);
    ASSERT_TRUE(checkpoint.save(0.5));
    transport.barrier();
    if (transport.rank() == 0) {
      for (const std::string& path : storage->paths()) {
        blocked = is_on_node(path) ? path.substr(node_folder.size() + 1) : blocked;
      }
      ASSERT_FALSE(blocked.empty());
      storage->put(blocked, std::as_bytes(std::span("somebody's")));
    }
    transport.barrier();
    state.set(2);
    const Saved saved = checkpoint.save(1);
    EXPECT_FALSE(saved);
    EXPECT_NE(saved.why.find("is in the way"), std::string::npos) << saved.why;
    transport.barrier();
    if (transport.rank() == 0) {
      EXPECT_EQ(storage->contents(blocked).size(), sizeof "somebody's");
      storage->remove(blocked);
    }
    transport.barrier();
    state.set(3);
    EXPECT_TRUE(checkpoint.save(1.5)) << "the next one drains first";
    checkpoint.close();
  });
  expect_restored(1, storage, 2, 3, 2);
}

// -- crash images
// -----------------------------------------------------------------------------------

/// What holds from a number of records on.
struct Mark {
  std::size_t records = 0;
  std::uint64_t begun = 0;    ///< the newest checkpoint that may be there
  std::uint64_t saved = 0;    ///< the newest that is there while the nodes are
  std::uint64_t drained = 0;  ///< the newest that is there without them
};

struct Recorded {
  std::shared_ptr<storage::MemoryStorage> disk = storage::make_memory();
  std::shared_ptr<storage::Log> log = std::make_shared<storage::Log>();
  std::vector<Mark> marks{Mark{}};

  void note(exec::Transport& transport, const std::function<void(Mark&)>& change) {
    if (transport.rank() == 0) {
      Mark mark = marks.back();
      mark.records = log->records().size();
      change(mark);
      marks.push_back(mark);
    }
  }
  const Mark& at(std::size_t place) const {
    return *std::prev(
        std::upper_bound(marks.begin(), marks.end(), place,
                         [](std::size_t p, const Mark& mark) { return p < mark.records; }));
  }
};

using Wrapper = std::function<std::shared_ptr<storage::Storage>(std::shared_ptr<storage::Storage>)>;

/// Restores, then saves `keys`; after some of them it waits until they are drained.
void record_run(Recorded& run, int ranks, const std::vector<std::uint64_t>& keys,
                std::uint64_t seed, const Wrapper& wrap) {
  on_ranks(
      ranks,
      [&](exec::Transport& transport) {
        std::shared_ptr<storage::Storage> storage =
            std::make_shared<storage::RecordingStorage>(run.disk, run.log, transport.rank());
        storage = wrap ? wrap(storage) : storage;
        Checkpoint checkpoint = open_checkpoint(transport, storage, with_scratch());
        RankState state(transport.rank(), transport.size());
        state.add_to(checkpoint);
        checkpoint.restore();
        run.note(transport, [](Mark& mark) { mark.drained = mark.saved; });
        for (const std::uint64_t key : keys) {
          state.set(key);
          run.note(transport, [&](Mark& mark) { mark.begun = key; });
          ASSERT_TRUE(checkpoint.save(0.5 * static_cast<double>(key)));
          run.note(transport, [&](Mark& mark) {
            mark.drained = mark.saved;  // the one before: saving waits for it
            mark.saved = key;
          });
          checkpoint.due();
          if (key % 3 == 0) {
            ASSERT_TRUE(checkpoint.drain(100));
            run.note(transport, [&](Mark& mark) { mark.drained = key; });
          }
        }
        if (ranks != 2) {  // else it is killed before the last one is drained
          checkpoint.close();
          run.note(transport, [](Mark& mark) { mark.drained = mark.saved; });
        }
      },
      seed);
}

struct Counts {
  std::uint64_t images = 0;
  std::uint64_t fallbacks = 0;  ///< to the last drained one
  std::vector<std::string> violations;
};

/// What one finds who restores: the number of the checkpoint, 0 for none.
std::uint64_t restored_from(const std::shared_ptr<storage::MemoryStorage>& storage, int ranks) {
  std::uint64_t number = 0;
  on_ranks(ranks, [&](exec::Transport& transport) {
    CheckpointOptions options = with_scratch();
    options.file.log = Log::off;
    Checkpoint checkpoint = open_checkpoint(transport, storage, options);
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint);
    const Restored restored = checkpoint.restore();
    if (restored) {
      const auto key = static_cast<std::uint64_t>(2 * restored.time);
      EXPECT_EQ(key, restored.number);
      state.expect(key, restored.kept.empty());
    }
    if (transport.rank() == 0) {
      number = restored.number;
    }
  });
  return number;
}

/// The newest found is `least` at least, of what `mark` says.
void demand(Counts& counts, const CrashDisk& disk,
            const std::shared_ptr<storage::MemoryStorage>& at, const Mark& mark,
            std::uint64_t least, const std::string& what) {
  const std::uint64_t most = mark.begun;
  ++counts.images;
  std::string found;
  try {
    const std::uint64_t number = restored_from(at, 1 + static_cast<int>(counts.images % 2));
    if (number >= least && number <= most) {
      counts.fallbacks += number < mark.saved ? 1 : 0;
      if (counts.images % 16 == 0) {  // and a run goes on
        save_keys(2, at, {number + 1}, with_scratch());
        const std::uint64_t next = restored_from(without_nodes(*at), 1);
        if (next != number + 1) {
          counts.violations.push_back(what + ": goes on to " + std::to_string(next));
        }
      }
      return;
    }
    found = std::to_string(number);
  } catch (const Error& e) {
    if (least == 0 && (e.code() == Code::not_found || e.code() == Code::damaged)) {
      return;  // nothing had been promised yet, and it says so
    }
    found = e.what();
  }
  counts.violations.push_back(what + " after " + std::to_string(disk.place) + " calls, " +
                              disk.choice + ": found " + found + ", not " + std::to_string(least) +
                              " to " + std::to_string(most));
}

Counts examine(const Recorded& run, Reach reach, std::uint64_t seed, std::size_t most_violations) {
  DiskLimits limits{.all_up_to = 4, .random = 3, .pairs = 3, .torn = 3, .per_place = 1};
  if (is_long()) {
    limits = {.all_up_to = 8, .random = 30, .pairs = 30, .torn = 10, .per_place = 8};
  }
  limits.seed = seed;
  Counts counts;
  CrashDisks disks({}, run.log->records(), reach, limits);
  disks.visit([&](const CrashDisk& disk) {
    constexpr std::size_t every = 5;  // place, in short runs
    if (!is_long() && disk.place % every != 0) {
      return true;
    }
    const Mark& mark = run.at(disk.place);
    auto whole = storage::make_memory();
    for (const auto& [path, bytes] : disk.files) {
      whole->put(path, *bytes);
    }
    const auto left = without_nodes(*whole);
    demand(counts, disk, whole, mark, mark.saved, "nodes there");
    demand(counts, disk, left, mark, mark.drained, "nodes lost");
    return counts.violations.size() < most_violations;
  });
  return counts;
}

Recorded record_all(std::uint64_t seed, const Wrapper& wrap = {}) {
  Recorded run;
  record_run(run, 2, {1, 2, 3, 4}, seed, wrap);
  record_run(run, 3, {5, 6}, seed + 1, wrap);
  return run;
}

TEST(Scratch, EveryCrashImageHoldsWhatWasPromised) {
  std::uint64_t images = 0;
  std::uint64_t fallbacks = 0;
  for (const Reach reach : {Reach::rank, Reach::inode}) {
    if (reach == Reach::inode && !is_long()) {
      break;  // the harder one is enough
    }
    const Recorded run = record_all(7);
    const Counts counts = examine(run, reach, 11, 3);
    for (const std::string& violation : counts.violations) {
      ADD_FAILURE() << violation;
    }
    EXPECT_GT(counts.images, is_long() ? 10000u : 200u);
    EXPECT_GT(counts.fallbacks, is_long() ? 100u : 2u);
    images += counts.images;
    fallbacks += counts.fallbacks;
  }
  std::printf("scratch: %llu images, %llu fell back to the last drained one\n",
              static_cast<unsigned long long>(images), static_cast<unsigned long long>(fallbacks));
}

// -- planted
// ----------------------------------------------------------------------------------------

/// Copies in the folder of the file are not synced before they have their names.
class UnsyncedCopies : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;
  std::unique_ptr<storage::File> open(const std::string& path, storage::Access access) override {
    struct Unsynced : storage::ForwardingFile {
      using ForwardingFile::ForwardingFile;
      void sync() override {}
    };
    auto file = ForwardingStorage::open(path, access);
    const bool is_copy = path.rfind("state.h5.parts/", 0) == 0;
    return is_copy ? std::make_unique<Unsynced>(std::move(file)) : std::move(file);
  }
};

TEST(Scratch, APlantedBugIsFound) {
  const Recorded run = record_all(7, [](std::shared_ptr<storage::Storage> inner) {
    return std::make_shared<UnsyncedCopies>(std::move(inner));
  });
  const Counts counts = examine(run, Reach::inode, 11, 1);
  ASSERT_FALSE(counts.violations.empty()) << counts.images << " images";
  std::printf("planted: found after %llu images: %s\n",
              static_cast<unsigned long long>(counts.images), counts.violations[0].c_str());
}

}  // namespace
}  // namespace sluice::test
