// T1 for numpy's files, which have no journal: durability is `close` there. Whatever disk a crash
// leaves while steps are appended, the steps of earlier runs are there after recovery, bit for bit;
// after the close all are.
#include <cstdio>
#include <gtest/gtest.h>

#include "api/file_impl.hpp"
#include "commit/recovery.hpp"
#include "crash/disk.hpp"
#include "exec/local_transport.hpp"
#include "storage/memory.hpp"
#include "storage/recording.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

const std::string path = "out.npy";
const Shape shape{40, 9};
constexpr std::uint64_t earlier_steps = 2;
constexpr std::uint64_t all_steps = 5;

void write(exec::Transport& transport, const std::shared_ptr<storage::Storage>& storage, Mode mode,
           std::uint64_t first, std::uint64_t end) {
  File out(detail::open_on(transport, storage, path, mode, {.strategy = "shared"}));
  const Variable v = out.define<double>("out", shape, {.steps = true});
  for (std::uint64_t k = first; k < end; ++k) {
    Giver<double> giver;
    Step step = out.begin_step();
    giver.put(step, v, k, shape, slab(shape, transport.rank(), transport.size()));
    step.end();
  }
  out.close();
}

TEST(NumpyImages, HoldTheStepsOfEarlierRuns) {
  const auto disk = storage::make_memory();
  exec::run_local(3, 1, [&](exec::Transport& transport) {
    write(transport, disk, Mode::write, 0, earlier_steps);
  });
  Files base;
  base[path] = std::make_shared<Bytes>(disk->contents(path));
  const auto log = std::make_shared<storage::Log>();
  exec::run_local(3, 1, [&](exec::Transport& transport) {
    const auto storage = std::make_shared<storage::RecordingStorage>(disk, log, transport.rank());
    write(transport, storage, Mode::append, earlier_steps, all_steps);
  });
  DiskLimits limits{.all_up_to = 6, .random = 60, .pairs = 60, .torn = 30, .per_place = 200};
  if (is_long()) {
    limits = {.all_up_to = 10};
  }
  std::size_t disks = 0;
  std::size_t mended = 0;
  for (const Reach reach : {Reach::inode, Reach::rank}) {
    CrashDisks images(base, log->records(), reach, limits);
    images.visit([&](const CrashDisk& image) {
      const auto storage = storage::make_memory();
      for (const auto& [name, bytes] : image.files) {
        storage->put(name, *bytes);
      }
      const commit::Recovery recovery = commit::recover(*storage, path, false);
      mended += recovery.there < recovery.counted ? 1 : 0;
      exec::run_local(1, 1, [&](exec::Transport& transport) {
        File in(detail::open_on(transport, storage, path, Mode::read, {}));
        EXPECT_GE(in.steps(), image.place == log->records().size() ? all_steps : earlier_steps);
        for (std::uint64_t k = 0; k < earlier_steps; ++k) {
          expect_values<double>(in, "out", k, shape, whole_box(shape), k);
        }
        if (image.place == log->records().size()) {
          expect_values<double>(in, "out", all_steps - 1, shape, whole_box(shape), all_steps - 1);
        }
      });
      ++disks;
      return !HasFailure();
    });
  }
  EXPECT_GT(disks, 500U);
  EXPECT_GT(mended, 0U) << "no disk had a count without its steps: nothing was tried";
  std::printf("T1 npy: %zu disks, %zu of them with a count that recovery mended, 0 violations\n",
              disks, mended);
}

}  // namespace
}  // namespace sluice::test
