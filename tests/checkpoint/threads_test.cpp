// Checkpoints whose files are drained, written behind and put in place by threads of the library,
// on one rank without MPI.
#include "checkpoint/states.hpp"
#include "exec/transport/solo_transport.hpp"
#include "storage/scratch.hpp"

namespace sluice::test {
namespace {

constexpr std::uint64_t elements = 40000;

struct Kind {
  const char* name;
  const char* strategy;
  bool has_scratch;
  bool is_incremental;
};

class CheckpointThreads : public testing::TestWithParam<Kind> {
 protected:
  CheckpointThreads() : table_(elements, 7) {
    options_.interval_calls = 1000;
    options_.signals = false;
    options_.incremental = GetParam().is_incremental;
    options_.file.strategy = GetParam().strategy;
    options_.file.log = Log::off;
    options_.file.apply_every_s = 0.001;
    if (GetParam().has_scratch) {
      options_.scratch = folder_ / "node";
    }
  }
  Checkpoint open() {
    Checkpoint state(std::make_unique<detail::CheckpointImpl>(*alone_, storage::make_posix(),
                                                              folder_ / "state.h5", options_));
    state.array("data", data_.data(), {elements});
    state.array("table", table_.data(), {elements});
    return state;
  }
  void fill(std::uint64_t key) { std::fill(data_.begin(), data_.end(), static_cast<double>(key)); }
  void expect_restored(Checkpoint& state, std::uint64_t least, std::uint64_t most) {
    fill(0);
    std::fill(table_.begin(), table_.end(), 0);
    const Restored restored = state.restore();
    const auto key = static_cast<double>(restored.number);
    EXPECT_GE(restored.number, least);
    EXPECT_LE(restored.number, most);
    EXPECT_EQ(std::count(data_.begin(), data_.end(), key), static_cast<std::ptrdiff_t>(elements));
    EXPECT_EQ(std::count(table_.begin(), table_.end(), 7), static_cast<std::ptrdiff_t>(elements));
  }

  const storage::Scratch folder_;
  const std::unique_ptr<exec::Transport> alone_ = exec::make_solo();
  CheckpointOptions options_;
  std::vector<double> data_ = std::vector<double>(elements);
  std::vector<double> table_;  ///< never changes
};

TEST_P(CheckpointThreads, TheMemoryChangesAtOnce) {
  Checkpoint state = open();
  for (std::uint64_t key = 1; key <= 4; ++key) {
    fill(key);
    ASSERT_TRUE(state.save(static_cast<double>(key)));
    fill(1000 + key);
    if (key % 2 == 0) {
      ASSERT_TRUE(state.drain(60));
    }
    state.due();
  }
  state.close();
  Checkpoint next = open();
  expect_restored(next, 4, 4);
}

TEST_P(CheckpointThreads, ARunThatEndsInTheMiddleStopsThem) {
  std::uint64_t last = 0;
  for (int run = 0; run < 3; ++run) {
    Checkpoint state = open();
    if (last != 0) {
      expect_restored(state, last, last + 1);
      std::fill(table_.begin(), table_.end(), 7);
    }
    last = static_cast<std::uint64_t>(std::max(0.0, data_[0]));
    for (int saves = 0; saves < 3; ++saves) {
      fill(last + 1);
      ASSERT_TRUE(state.save(static_cast<double>(last + 1)));
      ++last;
    }
    state.drain(0.001 * run);
    last -= options_.file.strategy == std::string("forward") ? 1 : 0;  // it may be on its way
    try {
      const Checkpoint lost = std::move(state);
      throw Error(Code::io, "of the run");
    } catch (const Error&) {
      continue;  // it was not closed
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CheckpointThreads,
                         testing::Values(Kind{"scratch", "auto", true, false},
                                         Kind{"incremental_scratch", "auto", true, true},
                                         Kind{"forward", "forward", false, false},
                                         Kind{"incremental_forward", "forward", false, true},
                                         Kind{"shared", "shared", false, true}),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace sluice::test
