// T1 for branches and tags of Icechunk repositories: on any disk that a crash leaves, the branch
// has the acknowledged steps, or one more; main is what it was; every tag that is there leads to
// its step, and only the last acknowledged step may lack its tag.
//
// SLUICE_LONG=1: all subsets of up to ten volatile calls.
#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>
#include <stdexcept>

#include "api/file/file_impl.hpp"
#include "crash/buggy.hpp"
#include "crash/disk.hpp"
#include "exec/transport/solo_transport.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/recording_storage.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

const std::string repository = "out.icechunk";
const Shape rows{20, 3};
constexpr int writing_ranks = 2;
constexpr std::uint64_t more_steps = 4;

std::string ref_of(const std::string& name) { return repository + "/refs/" + name + "/ref.json"; }

/// One run, recorded.
struct BranchRun {
  Files base;
  std::shared_ptr<storage::MemoryStorage> disk = storage::make_memory();
  std::shared_ptr<storage::Log> log = std::make_shared<storage::Log>();
  std::uint64_t first = 0;        ///< steps of main
  std::vector<std::size_t> acks;  ///< records when each further step was acknowledged

  void take(exec::Transport& transport, const std::shared_ptr<storage::Storage>& storage,
            const Options& options, std::uint64_t begin, std::uint64_t end) {
    const Mode mode = begin == 0 ? Mode::write : Mode::append;
    File out(detail::open_on(transport, storage, repository, mode, options));
    const Variable v = out.define<double>("v", rows, {.steps = true});
    for (std::uint64_t k = begin; k < end; ++k) {
      Giver<double> giver;
      Step step = out.begin_step();
      giver.put(step, v, k, rows, slab(rows, transport.rank(), transport.size()));
      step.end().wait();
      if (k - first == acks.size()) {  // one rank after another: the first one is enough
        acks.push_back(log->records().size());
      }
    }
    out.close();
  }
};

/// `first` steps of main, and then some of a branch that are recorded.
BranchRun record_branch(const std::string& strategy, std::uint64_t first, Reach reach, Bug bug) {
  BranchRun run;
  if (first != 0) {
    exec::run_local(writing_ranks, 1, [&](exec::Transport& transport) {
      BranchRun().take(transport, run.disk, {}, 0, first);
    });
  }
  run.first = first;
  for (const std::string& path : run.disk->paths()) {
    run.base[path] = std::make_shared<Bytes>(run.disk->contents(path));
  }
  const auto state = make_bug(bug);
  const Options options{.strategy = strategy, .branch = "trial", .tags = "step-{step}"};
  const auto body = [&](exec::Transport& transport) {
    const int rank = transport.rank();
    std::shared_ptr<storage::Storage> storage =
        std::make_shared<storage::RecordingStorage>(run.disk, run.log, rank);
    run.take(transport, bug == Bug::none ? storage : plant(storage, state, rank), options, first,
             first + more_steps);
  };
  exec::run_local(writing_ranks, 1, body, {.ranks_per_node = reach == Reach::rank ? 1 : 0});
  return run;
}

/// The steps that a version has, each with its values; an exception where that is not so.
std::uint64_t steps_of(const std::shared_ptr<storage::MemoryStorage>& storage,
                       const std::string& version) {
  const auto alone = exec::make_solo();
  File in(detail::open_on(*alone, storage, repository + version, Mode::read, {}));
  const std::uint64_t steps = in.steps();
  std::vector<double> got(rows[0] * rows[1]);
  for (std::uint64_t k = 0; k < steps; ++k) {
    in.get<double>(in.find("v"), got.data(), selection_of(whole_box(rows)), k);
    const auto expected = values_of<double>(k, dims_of(rows), whole_box(rows));
    if (!std::equal(got.begin(), got.end(), expected.data())) {
      throw std::runtime_error("step " + std::to_string(k) + version + " has other values");
    }
  }
  return steps;
}

std::string tags_violation(const std::shared_ptr<storage::MemoryStorage>& storage,
                           const BranchRun& run, std::uint64_t acked) {
  for (std::uint64_t k = run.first; k < run.first + more_steps; ++k) {
    const std::string tag = "step-" + std::to_string(k);
    const bool is_there = storage->exists(ref_of("tag." + tag));
    if (!is_there && k + 1 < acked) {
      return tag + " is missing, and " + std::to_string(acked) + " steps are acknowledged";
    }
    if (is_there && steps_of(storage, "@" + tag) != k + 1) {
      return tag + " leads to another step";
    }
  }
  return "";
}

/// What is wrong with a disk, or "".
std::string branch_violation(const BranchRun& run, const CrashDisk& image) {
  const auto storage = storage::make_memory();
  for (const auto& [name, bytes] : image.files) {
    storage->put(name, *bytes);
  }
  const auto count = static_cast<std::uint64_t>(std::count_if(
      run.acks.begin(), run.acks.end(), [&](std::size_t p) { return p <= image.place; }));
  if (run.first != 0 && steps_of(storage, "") != run.first) {
    return "main has changed";
  }
  if (!storage->exists(ref_of("branch.trial"))) {
    return count == 0 ? "" : "the branch is gone";
  }
  if (!storage->exists(ref_of("branch.main"))) {
    return "a branch without main";
  }
  const std::uint64_t acked = run.first + count;
  const std::uint64_t steps = steps_of(storage, "@trial");
  if (steps < acked || steps > acked + 1) {
    return std::to_string(steps) + " steps, and " + std::to_string(acked) + " acknowledged";
  }
  return tags_violation(storage, run, acked);
}

struct Found {
  std::size_t disks = 0;
  std::string violation;  ///< the first
};

Found examine_branch(const BranchRun& run, Reach reach) {
  const DiskLimits limits =
      is_long()
          ? DiskLimits{.all_up_to = 10, .random = 40, .pairs = 60, .torn = 12, .per_place = 75}
          : DiskLimits{.all_up_to = 4, .random = 6, .pairs = 6, .torn = 4, .per_place = 8};
  Found found;
  CrashDisks images(run.base, run.log->records(), reach, limits);
  const auto look = [&](const CrashDisk& image) {
    ++found.disks;
    try {
      found.violation = branch_violation(run, image);
    } catch (const std::exception& e) {
      found.violation = e.what();
    }
    if (!found.violation.empty()) {
      found.violation = describe(image, run.log->records().size()) + ": " + found.violation;
    }
    return found.violation.empty();
  };
  images.visit(look, 0, run.acks);
  return found;
}

class BranchImages : public testing::TestWithParam<const char*> {};

TEST_P(BranchImages, HoldTheAcknowledgedStepsAndTheirTags) {
  std::size_t disks = 0;
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{2}}) {
    for (const Reach reach : {Reach::inode, Reach::rank}) {
      const BranchRun run = record_branch(GetParam(), first, reach, Bug::none);
      ASSERT_EQ(run.acks.size(), more_steps);
      const Found found = examine_branch(run, reach);
      EXPECT_EQ(found.violation, "");
      disks += found.disks;
      std::printf("T1 branch %s %s%s %zu disks %d repeated; 0 second crashes and %d violations\n",
                  GetParam(), first == 0 ? "fresh" : "append",
                  reach == Reach::rank ? " by rank" : "", found.disks, 0,
                  found.violation.empty() ? 0 : 1);
    }
  }
  EXPECT_GE(disks, 1000U);
}

INSTANTIATE_TEST_SUITE_P(Strategies, BranchImages, testing::Values("shared", "forward"),
                         [](const auto& named) { return std::string(named.param); });

TEST(BranchImagesOfABug, AreNoticed) {
  for (const Bug bug : {Bug::no_data_sync, Bug::no_name_sync, Bug::no_sync_before_rename,
                        Bug::snapshot_unsynced, Bug::ref_name_unsynced, Bug::root_document_first}) {
    const BranchRun run = record_branch("shared", 0, Reach::inode, bug);
    EXPECT_NE(examine_branch(run, Reach::inode).violation, "") << static_cast<int>(bug);
  }
}

}  // namespace
}  // namespace sluice::test
