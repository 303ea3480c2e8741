// Checkpoint with scratch: checkpoints are written on the nodes and drained to the folder of the
// file. images_test.cpp has what crashes leave.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "checkpoint/images.hpp"
#include "storage/forwarding.hpp"
#include "support/in_folder.hpp"
#include "support/observing_storage.hpp"

namespace sluice::test {
namespace {

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

/// The file is opened by the first save and by each that follows a failure, the scratch with it.
TEST(Scratch, RelativeNamesAreThoseOfTheFolderInWhichACheckpointBegan) {
  for (const bool has_scratch : {false, true}) {
    const storage::Scratch folder;
    std::filesystem::create_directory(folder / "here");
    std::filesystem::create_directory(folder / "elsewhere");
    const auto storage = storage::make("posix");
    const CheckpointOptions options = has_scratch ? with_scratch() : CheckpointOptions{};
    const InFolder here(folder / "here");
    for (const std::uint64_t number : {0, 1}) {
      on_ranks(2, [&](exec::Transport& transport) {
        transport.barrier();
        std::filesystem::current_path(folder / "here");
        transport.barrier();
        Checkpoint checkpoint = open_checkpoint(transport, storage, options);
        RankState state(transport.rank(), transport.size());
        state.add_to(checkpoint);
        EXPECT_EQ(checkpoint.restore().number, number);
        transport.barrier();
        std::filesystem::current_path(folder / "elsewhere");
        transport.barrier();
        state.set(number + 1);
        EXPECT_TRUE(checkpoint.save(0.5));
        checkpoint.close();
      });
      EXPECT_TRUE(std::filesystem::is_empty(folder / "elsewhere"));
    }
    std::filesystem::current_path(folder / "here");
    EXPECT_EQ(std::filesystem::exists("node/state.h5.parts"), has_scratch);
    on_ranks(1, [&](exec::Transport& transport) {
      Checkpoint checkpoint = open_checkpoint(transport, storage);
      RankState state(0, 1);
      state.add_to(checkpoint);
      EXPECT_EQ(checkpoint.restore().number, 2u);
      state.expect(2, false);
    });
  }
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

/// Copies into the folder of the file fail while `is_full`.
class FullHome : public storage::ObservingStorage {
 public:
  FullHome(std::shared_ptr<storage::Storage> disk, std::atomic<bool>& is_full)
      : ObservingStorage(std::move(disk)), is_full_(is_full) {}
  std::unique_ptr<storage::File> open(const std::string& path, storage::Access access) override {
    if (is_full_ && access != storage::Access::read && path.rfind("state.h5.parts/", 0) == 0) {
      ++refused;
      throw Error(Code::no_space, path + ": open: No space left on device");
    }
    return ObservingStorage::open(path, access);
  }

  bool in_background() const override { return false; }  // so that refusals can be counted

  std::atomic<int> refused = 0;

 private:
  std::atomic<bool>& is_full_;
};

TEST(Scratch, ADrainThatFailedIsTriedAgainByTheNextSaveNotByEachQuestion) {
  const auto memory = storage::make_memory();
  std::atomic<bool> is_full = true;
  on_ranks(2, [&](exec::Transport& transport) {
    const auto storage = std::make_shared<FullHome>(memory, is_full);
    CheckpointOptions options = with_scratch();
    options.file.log = Log::off;
    Checkpoint checkpoint = open_checkpoint(transport, storage, options);
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint);
    state.set(1);
    ASSERT_TRUE(checkpoint.save(0.5));
    EXPECT_THROW(checkpoint.drain(1e6), Error);
    const int refused = storage->refused;
    EXPECT_GT(refused, 0);
    for (int i = 0; i < 5; ++i) {
      checkpoint.due();
    }
    EXPECT_EQ(storage->refused, refused);
    is_full = false;
    state.set(2);
    EXPECT_TRUE(checkpoint.save(1));
    EXPECT_TRUE(checkpoint.drain(1e6));
    checkpoint.close();
  });
  EXPECT_EQ(parts_on_nodes(*memory), 0u);
  expect_restored(2, memory, 2, 2, 2);
}

TEST(Scratch, ALastSaveThatCannotBeDrainedIsSavedAndDrainedByTheClose) {
  const auto memory = storage::make_memory();
  std::atomic<bool> is_full = true;
  const auto end_s = static_cast<std::int64_t>(std::time(nullptr)) + 10;
  setenv("SLURM_JOB_END_TIME", std::to_string(end_s).c_str(), 1);
  on_ranks(2, [&](exec::Transport& transport) {
    const auto storage = std::make_shared<FullHome>(memory, is_full);
    CheckpointOptions options = with_scratch();
    options.file.log = Log::off;
    Checkpoint checkpoint = open_checkpoint(transport, storage, options);
    RankState state(transport.rank(), transport.size());
    state.add_to(checkpoint);
    state.set(4);
    EXPECT_TRUE(checkpoint.due() && checkpoint.ending());
    const Saved saved = checkpoint.save(2);
    EXPECT_EQ(saved.number, 1u) << saved.why;
    transport.barrier();
    EXPECT_EQ(parts_on_nodes(*memory), 2u);
    transport.barrier();
    is_full = false;
    checkpoint.close();
  });
  unsetenv("SLURM_JOB_END_TIME");
  EXPECT_EQ(parts_on_nodes(*memory), 0u);
  expect_restored(2, memory, 1, 4, 2);
}

// -- planted
// ----------------------------------------------------------------------------------------

/// Copies in the folder of the file are not synced before they have their names.
class UnsyncedCopies : public storage::ObservingStorage {
 public:
  using ObservingStorage::ObservingStorage;
  std::unique_ptr<storage::File> open(const std::string& path, storage::Access access) override {
    struct Unsynced : storage::ForwardingFile {
      using ForwardingFile::ForwardingFile;
      void sync() override {}
    };
    auto file = ObservingStorage::open(path, access);
    const bool is_copy = path.rfind("state.h5.parts/", 0) == 0;
    return is_copy ? std::make_unique<Unsynced>(std::move(file)) : std::move(file);
  }
};

TEST(Scratch, APlantedBugIsFound) {
  const Recorded run = record_all(scratch_way(), 7, [](std::shared_ptr<storage::Storage> inner) {
    return std::make_shared<UnsyncedCopies>(std::move(inner));
  });
  const ImageCounts counts = examine(scratch_way(), run, Reach::inode, 11, 1);
  ASSERT_FALSE(counts.violations.empty()) << counts.disks << " images";
  std::printf("planted: found after %llu images: %s\n",
              static_cast<unsigned long long>(counts.disks), counts.violations[0].c_str());
}

}  // namespace
}  // namespace sluice::test
