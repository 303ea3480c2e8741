// T1 for numpy's files, which have no journal: the count of steps is one small write, after the
// sync of the steps. On any disk that a crash leaves, numpy would load the acknowledged steps, or
// one more, bit for bit. With durability `close` only the steps of earlier runs are guaranteed,
// after recovery.
//
// SLUICE_LONG=1: all subsets of up to ten volatile calls.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <optional>
#include <set>

#include "api/file/file_impl.hpp"
#include "codec/checksum.hpp"
#include "commit/publish/recovery.hpp"
#include "crash/buggy.hpp"
#include "crash/disk.hpp"
#include "support/local_transport.hpp"
#include "support/memory_storage.hpp"
#include "support/recording_storage.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

const std::string path = "out.npy";
const Shape shape{40, 9};
constexpr int ranks = 3;
constexpr std::uint64_t earlier_steps = 2;
constexpr std::uint64_t all_steps = 20;

/// One run, recorded.
struct Recorded {
  Files base;
  std::shared_ptr<storage::MemoryStorage> disk = storage::make_memory();
  std::shared_ptr<storage::Log> log = std::make_shared<storage::Log>();
  std::uint64_t first = 0;        ///< steps that were there before
  std::vector<std::size_t> acks;  ///< records when each further step was acknowledged

  void take(exec::Transport& transport, const std::shared_ptr<storage::Storage>& storage,
            const Options& options, std::uint64_t end);
};

void Recorded::take(exec::Transport& transport, const std::shared_ptr<storage::Storage>& storage,
                    const Options& options, std::uint64_t end) {
  const Mode mode = first == 0 ? Mode::write : Mode::append;
  File out(detail::open_on(transport, storage, path, mode, options));
  const Variable v = out.define<double>("out", shape, {.steps = true});
  for (std::uint64_t k = first; k < end; ++k) {
    Giver<double> giver;
    Step step = out.begin_step();
    giver.put(step, v, k, shape, slab(shape, transport.rank(), transport.size()));
    step.end().wait();
    if (k - first == acks.size()) {  // one rank after another: the first one is enough
      acks.push_back(log->records().size());
    }
  }
  out.close();
}

/// `first` steps, and then more that are recorded. On one node rank 0 syncs what all have written.
Recorded record(const Options& options, std::uint64_t first, Reach reach = Reach::inode,
                Bug bug = Bug::none) {
  Recorded earlier;
  if (first != 0) {
    exec::run_local(ranks, 1, [&](exec::Transport& transport) {
      earlier.take(transport, earlier.disk, options, first);
    });
  }
  Recorded run;
  run.disk = earlier.disk;
  run.first = first;
  if (first != 0) {
    run.base[path] = std::make_shared<Bytes>(run.disk->contents(path));
  }
  const auto state = make_bug(bug);
  const auto body = [&](exec::Transport& transport) {
    const int rank = transport.rank();
    std::shared_ptr<storage::Storage> storage =
        std::make_shared<storage::RecordingStorage>(run.disk, run.log, rank);
    run.take(transport, bug == Bug::none ? storage : plant(storage, state, rank), options,
             all_steps);
  };
  exec::run_local(ranks, 1, body, {.ranks_per_node = reach == Reach::rank ? 1 : 0});
  return run;
}

DiskLimits limits() {
  if (is_long()) {
    return {.all_up_to = 10};
  }
  return {.all_up_to = 6, .random = 60, .pairs = 60, .torn = 30, .per_place = 200};
}

/// What numpy loads from a file: the steps by its header. Empty if it would refuse it.
std::optional<std::uint64_t> plain_steps(const Bytes& file) {
  constexpr std::uint64_t header_bytes = 4096;
  if (file.size() < header_bytes) {
    return std::nullopt;
  }
  const std::string text(reinterpret_cast<const char*>(file.data()), header_bytes);
  const std::string before = "'shape': (";
  std::size_t at = text.find(before);
  if (text.compare(1, 5, "NUMPY") != 0 || at == std::string::npos) {
    return std::nullopt;
  }
  at = text.find_first_not_of(' ', at + before.size());
  std::uint64_t steps = 0;
  if (std::from_chars(&text[at], text.data() + text.size(), steps).ec != std::errc{}) {
    return std::nullopt;
  }
  const std::uint64_t step_bytes = dims_of(shape).volume() * sizeof(double);
  const bool is_whole = (file.size() - header_bytes) / step_bytes >= steps;
  return is_whole ? std::optional(steps) : std::nullopt;
}

bool holds(const Bytes& file, std::uint64_t step) {
  const auto values = values_of<double>(step, dims_of(shape), whole_box(shape));
  const std::uint64_t bytes = values.size() * sizeof(double);
  return std::memcmp(&file[4096 + step * bytes], values.data(), bytes) == 0;
}

std::uint64_t acknowledged(const Recorded& run, std::size_t place) {
  const auto count =
      std::count_if(run.acks.begin(), run.acks.end(), [&](std::size_t p) { return p <= place; });
  return run.first + static_cast<std::uint64_t>(count);
}

/// What is wrong with a disk, or "".
std::string violation_of(const Recorded& run, const CrashDisk& image) {
  const std::uint64_t acked = acknowledged(run, image.place);
  const auto found = image.files.find(path);
  if (found == image.files.end()) {
    return acked == 0 ? "" : "the file is gone";
  }
  const auto steps = plain_steps(*found->second);
  if (!steps) {
    return "numpy refuses the file";
  }
  if (*steps < acked || *steps > acked + 1) {
    return std::to_string(*steps) + " steps, and " + std::to_string(acked) + " acknowledged";
  }
  for (std::uint64_t step = 0; step < *steps; ++step) {
    if (!holds(*found->second, step)) {
      return "step " + std::to_string(step) + " of " + std::to_string(*steps) + " has other values";
    }
  }
  return "";
}

struct Counts {
  std::size_t disks = 0;
  std::size_t repeated = 0;
  std::string violation;  ///< the first
};

Counts examine(const Recorded& run, Reach reach) {
  Counts counts;
  std::set<std::uint64_t> seen;
  CrashDisks images(run.base, run.log->records(), reach, limits());
  const auto look = [&](const CrashDisk& image) {
    codec::Checksum digest;
    const std::uint64_t acked = acknowledged(run, image.place);
    digest.update(std::as_bytes(std::span(&acked, 1)));
    for (const auto& [name, bytes] : image.files) {
      digest.update(std::as_bytes(std::span(name)));
      digest.update(*bytes);
    }
    ++(seen.insert(digest.value()).second ? counts.disks : counts.repeated);
    counts.violation = violation_of(run, image);
    if (!counts.violation.empty()) {
      counts.violation = describe(image, run.log->records().size()) + ": " + counts.violation;
    }
    return counts.violation.empty();
  };
  images.visit(look, 0, run.acks);
  return counts;
}

class NumpyImages : public testing::TestWithParam<const char*> {};

TEST_P(NumpyImages, HoldTheAcknowledgedStepsOrOneMore) {
  std::size_t disks = 0;
  for (const std::uint64_t first : {std::uint64_t{0}, earlier_steps}) {
    for (const Reach reach : {Reach::inode, Reach::rank}) {
      const Recorded run = record({.strategy = GetParam()}, first, reach);
      ASSERT_EQ(run.acks.size(), all_steps - first);
      const Counts counts = examine(run, reach);
      EXPECT_EQ(counts.violation, "");
      disks += counts.disks;
      std::printf("T1 npy %s %s%s %zu disks %zu repeated; 0 second crashes and %d violations\n",
                  GetParam(), first == 0 ? "fresh" : "append",
                  reach == Reach::rank ? " by rank" : "", counts.disks, counts.repeated,
                  counts.violation.empty() ? 0 : 1);
    }
  }
  EXPECT_GE(disks, 2000U);
}

INSTANTIATE_TEST_SUITE_P(Strategies, NumpyImages, testing::Values("shared", "forward"),
                         [](const auto& named) { return std::string(named.param); });

TEST(NumpyImagesOfABug, AStepThatIsCountedBeforeItIsSyncedIsNoticed) {
  for (const Bug bug : {Bug::no_data_sync, Bug::one_writer_unsynced}) {
    EXPECT_NE(
        examine(record({.strategy = "shared"}, earlier_steps, Reach::inode, bug), Reach::inode)
            .violation,
        "");
  }
}

/// Whatever a crash leaves while steps are appended, those of earlier runs are there after
/// recovery, bit for bit; after the close all are.
TEST(NumpyImagesAtClose, HoldTheStepsOfEarlierRuns) {
  const Recorded run =
      record({.strategy = "shared", .durability = Durability::close}, earlier_steps);
  std::size_t disks = 0;
  std::size_t mended = 0;
  for (const Reach reach : {Reach::inode, Reach::rank}) {
    CrashDisks images(run.base, run.log->records(), reach, limits());
    images.visit([&](const CrashDisk& image) {
      const auto storage = storage::make_memory();
      for (const auto& [name, bytes] : image.files) {
        storage->put(name, *bytes);
      }
      const commit::Recovery recovery = commit::recover(*storage, path, false);
      mended += recovery.there < recovery.counted ? 1 : 0;
      const bool is_closed = image.place == run.log->records().size();
      const auto after = storage->contents(path);
      EXPECT_GE(plain_steps(after).value_or(0), is_closed ? all_steps : earlier_steps);
      for (std::uint64_t k = 0; k < (is_closed ? all_steps : earlier_steps); ++k) {
        EXPECT_TRUE(holds(after, k)) << "step " << k << " after " << image.place << " calls";
      }
      ++disks;
      return !HasFailure();
    });
  }
  EXPECT_GT(disks, 500U);
  EXPECT_GT(mended, 0U) << "no disk had a count without its steps: nothing was tried";
  std::printf(
      "T1 npy synced at close: %zu disks, %zu of them with a count that recovery mended, "
      "0 violations\n",
      disks, mended);
}

}  // namespace
}  // namespace sluice::test
