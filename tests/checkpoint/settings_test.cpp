// What is set for all files, which is meant for output, and what a checkpoint sets of its own file.
#include <complex>

#include "checkpoint/images.hpp"
#include "storage/scratch.hpp"
#include "support/environment.hpp"

namespace sluice::test {
namespace {

std::size_t paths_in(const storage::MemoryStorage& storage, const std::string& folder) {
  const auto paths = storage.paths();
  return static_cast<std::size_t>(
      std::count_if(paths.begin(), paths.end(),
                    [&](const std::string& path) { return path.rfind(folder, 0) == 0; }));
}

std::uint64_t steps_in(const std::shared_ptr<storage::MemoryStorage>& storage) {
  std::uint64_t steps = 0;
  on_ranks(1, [&](exec::Transport& transport) {
    steps = open_file(transport, storage, state_path, Mode::read, {}).steps();
  });
  return steps;
}

/// A settings file, which SLUICE_CONFIG names during its lifetime.
class Config {
 public:
  explicit Config(const std::string& text) {
    storage::make_posix()
        ->open(path_, storage::Access::create)
        ->write(0, std::as_bytes(std::span(text)));
  }

 private:
  storage::Scratch folder_;
  std::string path_ = folder_ / "settings.toml";
  Environment environment_{{"SLUICE_CONFIG", path_}};
};

TEST(Settings, NoStrategyOfAllFilesKeepsCheckpointsFromTheNodes) {
  for (const char* const strategy : {"auto", "collective", "serial"}) {
    SCOPED_TRACE(strategy);
    const Environment environment{{"SLUICE_STRATEGY", strategy}, {"SLUICE_PARTS_DIR", "elsewhere"}};
    const auto storage = storage::make_memory();
    on_ranks(3, [&](exec::Transport& transport) {
      Checkpoint checkpoint = open_checkpoint(transport, storage, with_scratch());
      RankState state(transport.rank(), transport.size());
      state.add_to(checkpoint);
      state.set(1);
      const Saved saved = checkpoint.save(0.5);
      ASSERT_TRUE(saved) << saved.why;
      transport.barrier();
      EXPECT_EQ(parts_on_nodes(*storage), 3u);
      EXPECT_EQ(paths_in(*storage, "elsewhere"), 0u);
      checkpoint.close();
    });
    EXPECT_EQ(parts_on_nodes(*storage), 0u);
    expect_restored(2, storage, 1, 1, 3);
  }
}

TEST(Settings, NothingSetForAllFilesDropsOrMovesCheckpoints) {
  const Environment environment{{"SLUICE_KEEP_LAST", "1"},
                                {"SLUICE_RESTART_AFTER", "0"},
                                {"SLUICE_PARTS_DIR", node_folder},
                                {"SLUICE_SPLIT_STEPS", "10"}};
  for (const std::uint64_t keep : {3, 0}) {
    SCOPED_TRACE(keep);
    CheckpointOptions options;
    options.keep = keep;
    const auto storage = storage::make_memory();
    save_keys(2, storage, {1, 2, 3, 4, 5}, options);
    EXPECT_EQ(steps_in(storage), keep == 0 ? 5 : 3);
    save_keys(3, storage, {6}, options);
    EXPECT_EQ(steps_in(storage), keep == 0 ? 6 : 3);
    EXPECT_EQ(paths_in(*storage, node_folder + "/"), 0u);
    expect_restored(2, storage, 6, 6, 3);
  }
}

TEST(Settings, IncrementalCheckpointsHavePartsOfTheirOwnWhateverSplitsAllFiles) {
  const std::vector<std::uint64_t> keys{1, 2, 3, 4, 5, 6};
  const auto alone = storage::make_memory();
  save_keys(2, alone, keys, incremental(), true);
  const Environment environment{{"SLUICE_SPLIT_STEPS", "4"}, {"SLUICE_SPLIT_BYTES", "1 GiB"}};
  const auto beside = storage::make_memory();
  save_keys(2, beside, keys, incremental(), true);
  EXPECT_EQ(beside->paths().size(), alone->paths().size());
}

TEST(Settings, TheTableOfTheFileCounts) {
  const Config config("keep_last = 1\nparts_dir = 'elsewhere'\n[state]\nparts_dir = 'node'\n");
  const auto storage = storage::make_memory();
  save_keys(2, storage, {1, 2, 3});
  EXPECT_GT(parts_on_nodes(*storage), 0u);
  EXPECT_EQ(paths_in(*storage, "elsewhere"), 0u);
  EXPECT_EQ(steps_in(storage), 2u);
}

TEST(Settings, TheTableOfTheFileIsRefusedWhereItContradictsTheCheckpoint) {
  const auto storage = storage::make_memory();
  const auto refusal = [&](const std::string& line, const CheckpointOptions& options,
                           const std::string& why) {
    const Config config("[state]\n" + line + "\n");
    expect_everywhere(
        errors_on_ranks(
            2, [&](exec::Transport& transport) { open_checkpoint(transport, storage, options); }),
        Code::invalid_argument, {"state.h5", why});
  };
  refusal("keep_last = 1", {}, "keep");
  refusal("restart_after = 2", {}, "restart_after");
  refusal("split_steps = 2", incremental(), "split_steps");
  refusal("strategy = 'serial'", with_scratch(), "serial");
  refusal("parts_dir = 'elsewhere'", with_scratch(), "parts_dir");
}

TEST(Settings, AnInvalidValueIsAnErrorThoughItDoesNotCount) {
  const Environment environment{{"SLUICE_KEEP_LAST", "x"}};
  const auto storage = storage::make_memory();
  expect_everywhere(
      errors_on_ranks(2, [&](exec::Transport& transport) { open_checkpoint(transport, storage); }),
      Code::invalid_argument, {"SLUICE_KEEP_LAST"});
}

TEST(Settings, AFormatThatCannotKeepTheLastFewIsRefusedAtOnce) {
  const auto storage = storage::make_memory();
  for (const char* const format : {"zarr", "npy"}) {
    CheckpointOptions options;
    options.file.format = format;
    expect_everywhere(
        errors_on_ranks(
            2, [&](exec::Transport& transport) { open_checkpoint(transport, storage, options); }),
        Code::unsupported, {"state.h5", format, "keep = 0"});
  }
}

TEST(Settings, WhatTheFormatCannotHoldIsRefusedWhereItIsRegistered) {
  const auto storage = storage::make_memory();
  CheckpointOptions options;
  options.file.format = "netcdf4";
  const auto expect_refused = [&](const std::string& text, const auto& add) {
    expect_everywhere(errors_on_ranks(2,
                                      [&](exec::Transport& transport) {
                                        Checkpoint checkpoint =
                                            open_checkpoint(transport, storage, options);
                                        add(checkpoint);
                                      }),
                      Code::unsupported, {"checkpoint: ", text});
  };
  expect_refused("no complex numbers", [](Checkpoint& checkpoint) {
    std::complex<double> wave[4] = {};
    checkpoint.array("wave", wave, {4});
  });
  expect_refused("ends with a space", [](Checkpoint& checkpoint) {
    std::uint64_t seed = 0;
    checkpoint.bytes("seed ", &seed, sizeof seed);
  });
  options.keep = 0;
  options.file.format = "zarr";
  expect_refused("text", [](Checkpoint& checkpoint) {
    std::string note;
    checkpoint.text("note", note, 10);
  });
}

TEST(Settings, ACompressionThatRoundsIsRefusedAtOnce) {
  const Environment environment{{"SLUICE_COMPRESS", "digits:3+deflate:1"}};
  const auto storage = storage::make_memory();
  expect_everywhere(
      errors_on_ranks(2, [&](exec::Transport& transport) { open_checkpoint(transport, storage); }),
      Code::invalid_argument, {"state.h5", "digits:3+deflate:1", "needs every bit"});
}

}  // namespace
}  // namespace sluice::test
