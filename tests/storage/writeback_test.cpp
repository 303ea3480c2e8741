// The write-back of long writes is begun at once, by a thread, and is only a hint.
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <sched.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "storage/posix_calls.hpp"
#include "storage/scratch.hpp"

namespace sluice::storage {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t mib = 1 << 20;

std::mutex mutex;
std::vector<std::pair<std::uint64_t, std::uint64_t>> begun;  // first byte, end
std::atomic<bool> is_slow = false;
std::atomic<bool> is_refused = false;
std::atomic<int> cores_of_thread = 0;

SystemCalls watched_calls() {
  begun.clear();
  is_slow = false;
  is_refused = false;
  SystemCalls calls = real_system_calls();
  calls.begin_writeback = [](int fd, off_t offset, off_t bytes) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    cores_of_thread = ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0;
    {
      const std::lock_guard lock(mutex);
      begun.emplace_back(offset, offset + bytes);
    }
    while (is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (is_refused) {
      errno = ENOSYS;
      return -1;
    }
    return real_system_calls().begin_writeback(fd, offset, bytes);
  };
  return calls;
}

std::uint64_t bytes_begun() {
  const std::lock_guard lock(mutex);
  std::uint64_t bytes = 0;
  for (const auto& [first, end] : begun) bytes += end - first;
  return bytes;
}

void wait_until_begun(std::uint64_t bytes) {
  for (int i = 0; i < 5000 && bytes_begun() < bytes; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(bytes_begun(), bytes);
}

void expect_content(File& file, std::uint64_t offset, const std::vector<std::byte>& bytes) {
  std::vector<std::byte> got(bytes.size());
  EXPECT_EQ(file.read(offset, got), got.size());
  EXPECT_TRUE(got == bytes);
}

TEST(Writeback, BeginsWithWholePagesOfLongWrites) {
  const Scratch scratch;
  const auto file = make_writeback(watched_calls())->open(scratch / "a", Access::create);
  const auto bytes = random_bytes(9 * mib + 100, 1);
  file->write(page + 5, bytes);
  wait_until_begun(9 * mib);
  const std::lock_guard lock(mutex);
  EXPECT_EQ(begun.front().first, page);
  EXPECT_EQ(begun.back().second, page + 9 * mib);
  expect_content(*file, page + 5, bytes);
}

TEST(Writeback, ItsThreadRunsWhereItIsTold) {
  const auto bytes = random_bytes(mib, 7);
  const auto cores_of_writing = [&](Cores cores) {
    const Scratch scratch;
    const auto file = make_writeback(watched_calls(), cores)->open(scratch / "a", Access::create);
    file->write(0, bytes);
    wait_until_begun(mib);
    return cores_of_thread.load();
  };
  const int all = cores_of_writing(Cores::any);
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(cores_of_writing(Cores::any), all);
    EXPECT_EQ(cores_of_writing(Cores::of_starter), 1);
  }).join();
}

TEST(Writeback, LeavesShortWritesToTheKernel) {
  const Scratch scratch;
  const auto file = make_writeback(watched_calls())->open(scratch / "a", Access::create);
  const auto bytes = random_bytes(page, 2);
  for (std::uint64_t i = 0; i < 64; ++i) file->write(i * page, bytes);
  file->sync();
  EXPECT_EQ(bytes_begun(), 0u);
}

TEST(Writeback, BeginsWithShortOnesWhereASyncFollows) {
  for (const bool refused : {false, true}) {
    const Scratch scratch;
    const SystemCalls calls = watched_calls();
    is_refused = refused;
    const auto file = make_writeback(calls)->open(scratch / "a", Access::create);
    const auto bytes = random_bytes(page, 6);
    for (std::uint64_t i = 0; i < 64; ++i) file->write(i * page, bytes);
    file->begin_sync();
    ASSERT_EQ(begun.size(), 1u);
    EXPECT_EQ(begun[0], (std::pair<std::uint64_t, std::uint64_t>(0, 0)));  // to the end
    file->sync();
    expect_content(*file, 63 * page, bytes);
  }
}

TEST(Writeback, NeitherWritesNorTheEndWaitForABusyDisk) {
  const Scratch scratch;
  const SystemCalls calls = watched_calls();
  is_slow = true;
  std::thread disk;
  {
    const auto file = make_writeback(calls)->open(scratch / "a", Access::create);
    const auto bytes = random_bytes(8 * mib, 3);
    // Gaps: neighbours would be joined.
    for (std::uint64_t i = 0; i < 40; ++i) file->write(i * 16 * mib, bytes);
    // One call waits for the disk; the others have not begun.
    EXPECT_LE(bytes_begun(), 8 * mib);
    expect_content(*file, 39 * 16 * mib, bytes);
    disk = std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      is_slow = false;
    });
  }
  disk.join();
  EXPECT_LT(bytes_begun(), 40 * 8 * mib);  // the end of the file has no use for the rest
}

TEST(Writeback, ARefusalChangesNothing) {
  const Scratch scratch;
  const SystemCalls calls = watched_calls();
  is_refused = true;
  const auto file = make_writeback(calls)->open(scratch / "a", Access::create);
  const auto bytes = random_bytes(5 * mib, 4);
  file->write(3, bytes);
  wait_until_begun(5 * mib);
  file->sync();
  expect_content(*file, 3, bytes);
}

TEST(Writeback, AForkedProcessEndsWithoutTheThread) {
  const Scratch scratch;
  auto file = make_writeback(watched_calls())->open(scratch / "a", Access::create);
  const auto bytes = random_bytes(mib, 5);
  file->write(0, bytes);
  wait_until_begun(mib);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    file->write(mib, bytes);
    file.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_content(*file, mib, bytes);
}

}  // namespace
}  // namespace sluice::storage
