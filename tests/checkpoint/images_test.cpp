// T1c: every disk that a crash may leave while checkpoints are saved, written over and drained
// gives back the newest checkpoint that was promised, or a later one, with the storage of the nodes
// and without it.
//
// SLUICE_LONG=1: many more disks. SLUICE_CRASH_SEED: another seed.
#include "checkpoint/images.hpp"

#include <cstdlib>

#include "support/names.hpp"

namespace sluice::test {
namespace {

struct Kind {
  const char* name;
  const char* strategy;
  bool has_scratch;
  bool is_incremental;
};

// tests/checkpoint/CMakeLists.txt has the same list.
constexpr Kind kinds[] = {{"scratch", "auto", true, false},
                          {"shared", "shared", false, true},
                          {"forward", "forward", false, true},
                          {"file-per-process", "file-per-process", false, true},
                          {"incremental_scratch", "auto", true, true}};

Way way_of(const Kind& kind) {
  if (!kind.is_incremental) {
    return scratch_way();
  }
  Way way = incremental_way(kind.strategy);
  if (kind.has_scratch) {
    way.options.scratch = node_folder;
    way.options.file.ranks_per_node = 1;
  }
  return way;
}

std::string title_of(const Kind& kind, Reach reach) {
  return std::string(kind.is_incremental ? "incremental " : "all ") +
         (kind.has_scratch ? "scratch" : kind.strategy) +
         (reach == Reach::rank ? " by rank" : " by inode");
}

std::uint64_t base_seed() {
  const char* text = std::getenv("SLUICE_CRASH_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 17;
}

class CheckpointImages : public testing::TestWithParam<Kind> {};

TEST_P(CheckpointImages, HoldWhatWasPromised) {
  const Kind& kind = GetParam();
  Way way = way_of(kind);
  const std::uint64_t seed = base_seed();
  for (const Reach reach : {Reach::rank, Reach::inode}) {
    if (reach == Reach::inode && !is_long()) {
      break;  // the harder one is enough
    }
    way.ranks_per_node = reach == Reach::rank ? 1 : 0;
    const ImageCounts counts = examine(way, record_all(way, seed), reach, seed + 6, 3);
    report(title_of(kind, reach), counts);
    for (const std::string& violation : counts.violations) {
      ADD_FAILURE() << title_of(kind, reach) << " (seed " << seed << "): " << violation;
    }
    EXPECT_GT(counts.disks, is_long() ? 1000u : 50u);
    EXPECT_TRUE(!kind.has_scratch || counts.fallbacks > (is_long() ? 100u : 2u));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CheckpointImages, testing::ValuesIn(kinds),
                         [](const auto& kind) { return test_name(kind.param.name); });

}  // namespace
}  // namespace sluice::test
