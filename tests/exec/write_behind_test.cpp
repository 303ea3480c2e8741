// Staged bytes written by a thread: order, the bound of the queue, failures, and waits.
#include "exec/write/write_behind.hpp"

#include <atomic>
#include <gtest/gtest.h>

#include "sluice/error.hpp"
#include "storage/scratch.hpp"

namespace sluice::exec {
namespace {

TEST(WriteBehind, WritesWhatWasStagedWhileTheNextIsFilled) {
  const storage::Scratch folder;
  constexpr std::size_t bytes = 10000;
  constexpr std::size_t count = 50;
  const auto file = storage::make_posix()->open(folder / "f", storage::Access::create);
  {
    WriteBehind writer(bytes, 3, Pace::in_thread);
    for (std::size_t i = 0; i < count; ++i) {
      Staging* staging = writer.take();
      std::fill_n(staging->data(), bytes, static_cast<std::byte>(i));
      writer.submit(*file, staging, i * bytes, 0, bytes);
    }
    writer.drain();
    EXPECT_LE(writer.bytes(), 3 * bytes);
    EXPECT_GE(writer.waited_s(), 0.0);
  }
  std::vector<std::byte> got(bytes * count);
  ASSERT_EQ(file->read(0, got), got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i], static_cast<std::byte>(i / bytes)) << i;
  }
}

TEST(WriteBehind, AFailureReachesTheNextTaskAndNobodyElse) {
  WriteBehind writer(16, 2, Pace::in_thread);
  std::atomic<int> skipped = 0;
  std::atomic<int> met = 0;
  writer.submit([](bool) { throw Error(Code::io, "the disk is gone"); });
  writer.submit([&](bool has_failed) { skipped += has_failed ? 1 : 0; });
  writer.submit_task([&](const std::exception_ptr& earlier) { met += earlier != nullptr ? 1 : 0; });
  writer.submit([&](bool has_failed) { skipped += has_failed ? 1 : 0; });
  writer.drain();
  EXPECT_EQ(skipped, 1);
  EXPECT_EQ(met, 1);
}

TEST(WriteBehind, DrainThrowsWhatNoTaskHasHeard) {
  WriteBehind writer(16, 2, Pace::in_thread);
  writer.submit([](bool) { throw Error(Code::io, "the disk is gone"); });
  EXPECT_THROW(writer.drain(), Error);
  EXPECT_NO_THROW(writer.drain());
}

}  // namespace
}  // namespace sluice::exec
