// Interrupted, short and endless system calls stay behind the door; sizes above what one call can
// move are split.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <vector>

#include "storage/posix_calls.hpp"
#include "storage/posix_file.hpp"
#include "storage/scratch.hpp"

namespace sluice::storage {
namespace {

constexpr std::size_t page = 4096;

enum class Count { one, half, all_but_one };

// What the replaced calls do; reset by each test.
struct {
  int interruptions = 0;  // before each call that succeeds
  int left = 0;
  Count count = Count::half;
  int sync_calls = 0;
  int sync_errno = 0;
  int fallocate_errno = 0;
  int write_calls = 0;
  std::vector<std::pair<off_t, std::size_t>> pieces;
} script;

bool interrupt() {
  if (script.left-- > 0) {
    errno = EINTR;
    return true;
  }
  script.left = script.interruptions;
  return false;
}

std::size_t shortened(std::size_t bytes) {
  switch (script.count) {
    case Count::one:
      return 1;
    case Count::half:
      return (bytes + 1) / 2;
    case Count::all_but_one:
      return std::max<std::size_t>(bytes - 1, 1);
  }
  return bytes;
}

ssize_t short_read(int fd, void* into, size_t bytes, off_t offset) {
  if (interrupt()) return -1;
  return ::pread(fd, into, shortened(bytes), offset);
}

ssize_t short_write(int fd, const void* from, size_t bytes, off_t offset) {
  ++script.write_calls;
  if (interrupt()) return -1;
  const std::size_t count = shortened(bytes);
  if ((::fcntl(fd, F_GETFL) & O_DIRECT) == 0) return ::pwrite(fd, from, count, offset);
  // A direct write that stopped between two pages: whole pages landed, the rest is unknown.
  if (const std::size_t whole = count / page * page; whole > 0) {
    if (::pwrite(fd, from, whole, offset) != static_cast<ssize_t>(whole)) return -1;
  }
  return static_cast<ssize_t>(count);
}

SystemCalls short_calls() {
  SystemCalls calls = real_system_calls();
  calls.pread = short_read;
  calls.pwrite = short_write;
  calls.openat = [](int folder, const char* path, int flags, mode_t mode) {
    return interrupt() ? -1 : ::openat(folder, path, flags, mode);
  };
  calls.ftruncate = [](int fd, off_t bytes) { return interrupt() ? -1 : ::ftruncate(fd, bytes); };
  calls.fallocate = [](int fd, int mode, off_t offset, off_t bytes) {
    return interrupt() ? -1 : ::fallocate(fd, mode, offset, bytes);
  };
  calls.futimens = [](int fd, const timespec times[2]) {
    return interrupt() ? -1 : ::futimens(fd, times);
  };
  calls.renameat = [](int in, const char* a, int to, const char* b) {
    return interrupt() ? -1 : ::renameat(in, a, to, b);
  };
  calls.unlinkat = [](int folder, const char* path, int flags) {
    return interrupt() ? -1 : ::unlinkat(folder, path, flags);
  };
  return calls;
}

class Interrupted : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { script = {}; }
  std::shared_ptr<Storage> over(const SystemCalls& calls) const {
    return GetParam() ? make_direct(calls) : make_posix(calls);
  }
  Scratch scratch_;
};

TEST_P(Interrupted, EveryShortCountEndsInAllBytes) {
  for (const Count count : {Count::one, Count::half, Count::all_but_one}) {
    for (const int interruptions : {0, 1, 3}) {
      script = {};
      script.interruptions = script.left = interruptions;
      script.count = count;
      auto storage = over(short_calls());
      const std::string path = scratch_ / "a";
      auto file = storage->open(path, Access::create);
      // n - 1 of n, again and again, needs a call a byte: keep what goes by bytes small.
      const auto bytes = random_bytes(count == Count::half ? 3'000'001 : 100'001, 1);
      file->write(77, bytes);
      EXPECT_GT(script.write_calls, 1);
      std::vector<std::byte> got(bytes.size() + 10);
      EXPECT_EQ(file->read(77, got), bytes.size());
      got.resize(bytes.size());
      EXPECT_TRUE(got == bytes);
      file->preallocate(0, 1 << 20);
      file->resize(10);
      file->set_modified_ns(5);
      EXPECT_EQ(file->modified_ns(), 5);
      EXPECT_EQ(file->size(), 10u);
      storage->rename(path, path + "b");
      storage->remove(path + "b");
    }
  }
}

TEST_P(Interrupted, EndlessInterruptionIsAnErrorNotAHang) {
  auto storage = over(short_calls());
  auto file = storage->open(scratch_ / "a", Access::create);
  const auto bytes = random_bytes(300'000, 1);
  script.left = 1 << 30;
  EXPECT_EQ(error_of([&] { file->write(0, bytes); }).code(), Code::io);
  std::vector<std::byte> got(10);
  EXPECT_EQ(error_of([&] { file->read(0, got); }).code(), Code::io);
  EXPECT_EQ(error_of([&] { file->preallocate(0, 10); }).code(), Code::io);
  EXPECT_LE(script.write_calls, 2 * max_idle_calls);
}

/// As on tmpfs, in kernels where any signal undoes a reservation: a profiler sends one after
/// another.
TEST_P(Interrupted, SignalsDoNotReachAReservation) {
  SystemCalls calls = real_system_calls();
  calls.fallocate = [](int fd, int mode, off_t offset, off_t bytes) {
    sigset_t blocked;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    if (::sigismember(&blocked, SIGPROF) == 1) return ::fallocate(fd, mode, offset, bytes);
    errno = EINTR;
    return -1;
  };
  const auto file = over(calls)->open(scratch_ / "a", Access::create);
  file->preallocate(0, 1 << 20);
  EXPECT_EQ(file->size(), 1u << 20);
  sigset_t after;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &after);
  EXPECT_EQ(::sigismember(&after, SIGPROF), 0);
}

TEST_P(Interrupted, WritesThatMoveNothingEnd) {
  SystemCalls calls = real_system_calls();
  calls.pwrite = [](int, const void*, size_t, off_t) -> ssize_t {
    ++script.write_calls;
    return 0;
  };
  auto file = over(calls)->open(scratch_ / "a", Access::create);
  const auto bytes = random_bytes(300'000, 1);
  EXPECT_EQ(error_of([&] { file->write(0, bytes); }).code(), Code::io);
  EXPECT_LE(script.write_calls, max_idle_calls + 1);
}

TEST_P(Interrupted, AFailedSyncIsNeverRetriedAndNeverForgotten) {
  for (const int problem : {EIO, EINTR, ENOSPC}) {
    script = {};
    script.sync_errno = problem;
    SystemCalls calls = real_system_calls();
    calls.fdatasync = [](int) {
      ++script.sync_calls;
      errno = script.sync_errno;
      return script.sync_errno == 0 ? 0 : -1;
    };
    auto storage = over(calls);
    auto file = storage->open(scratch_ / "a" + std::to_string(problem), Access::create);
    const Error first = error_of([&] { file->sync(); });
    EXPECT_EQ(first.code(), problem == ENOSPC ? Code::no_space : Code::io);
    EXPECT_EQ(script.sync_calls, 1);
    script.sync_errno = 0;  // as the kernel would answer: the bad pages are gone
    EXPECT_STREQ(error_of([&] { file->sync(); }).what(), first.what());
    EXPECT_EQ(script.sync_calls, 1);
  }
}

TEST_P(Interrupted, SpaceThatCannotBeReservedIsNotWritten) {
  SystemCalls calls = real_system_calls();
  calls.fallocate = [](int, int, off_t, off_t) {
    errno = script.fallocate_errno;
    return -1;
  };
  calls.pwrite = [](int, const void*, size_t, off_t) -> ssize_t {
    ++script.write_calls;
    errno = EIO;
    return -1;
  };
  auto file = over(calls)->open(scratch_ / "a", Access::create);
  script.fallocate_errno = EOPNOTSUPP;
  file->preallocate(0, 1 << 20);
  EXPECT_EQ(script.write_calls, 0);
  EXPECT_EQ(file->size(), 0u);
  for (const int problem : {ENOSPC, EDQUOT, EFBIG}) {
    script.fallocate_errno = problem;
    EXPECT_EQ(error_of([&] { file->preallocate(0, 1 << 20); }).code(), Code::no_space);
  }
}

// Sizes around the most that one call moves, without moving them: the calls take notes instead.
TEST_P(Interrupted, HugeTransfersAreSplitWithoutAGap) {
  SystemCalls calls = real_system_calls();
  const auto note = [](size_t bytes, off_t offset) {
    const std::size_t count = std::min<std::size_t>(bytes, 0x7ffff000);  // Linux's own limit
    script.pieces.emplace_back(offset, count);
    return static_cast<ssize_t>(count);
  };
  static const auto& noted = note;
  calls.pwrite = [](int, const void*, size_t bytes, off_t offset) { return noted(bytes, offset); };
  calls.pread = [](int, void*, size_t bytes, off_t offset) { return noted(bytes, offset); };
  auto file = over(calls)->open(scratch_ / "a", Access::create);

  const std::size_t most = (std::size_t{1} << 32) + 1;
  void* memory =
      ::mmap(nullptr, most, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::span<std::byte> bytes(static_cast<std::byte*>(memory), most);
  for (const std::size_t size :
       {std::size_t{0x7fffefff}, std::size_t{0x7ffff000}, std::size_t{0x7ffff001},
        (std::size_t{1} << 31) - 1, std::size_t{1} << 31, (std::size_t{1} << 31) + 1, most}) {
    for (const std::uint64_t offset : {std::uint64_t{0}, (std::uint64_t{1} << 33) + page}) {
      for (const bool writing : {true, false}) {
        script.pieces.clear();
        if (writing) {
          file->write(offset, bytes.first(size));
        } else {
          EXPECT_EQ(file->read(offset, bytes.first(size)), size);
        }
        std::uint64_t next = offset;
        for (const auto& [at, count] : script.pieces) {
          EXPECT_EQ(static_cast<std::uint64_t>(at), next);
          EXPECT_LE(count, std::size_t{1} << 30);
          next += count;
        }
        EXPECT_EQ(next, offset + size) << "size " << size << " offset " << offset;
      }
    }
  }
  ::munmap(memory, most);
}

// A file system that says only at the close that there is no space; the descriptor is gone then.
TEST(Close, AFailureIsThrownAndNothingIsClosedTwice) {
  static int closed;
  SystemCalls calls = real_system_calls();
  calls.close = [](int fd) {
    ++closed;
    ::close(fd);
    errno = EDQUOT;
    return -1;
  };
  const Scratch scratch;
  for (const auto& storage : {make_posix(calls), make_writeback(calls), make_direct(calls)}) {
    auto file = storage->open(scratch / storage->name(), Access::create);
    const std::vector<std::byte> bytes(256 << 10);
    file->write(0, bytes);  // the writeback of which a thread begins
    closed = 0;
    EXPECT_EQ(error_of([&] { file->close(); }).code(), Code::no_space) << storage->name();
    const int then = closed;
    EXPECT_GE(then, 1);
    file.reset();
    EXPECT_EQ(closed, then) << storage->name();
  }
  auto file = make_posix()->open(scratch / "b", Access::create);
  file->close();
}

INSTANTIATE_TEST_SUITE_P(Each, Interrupted, testing::Bool(), [](const auto& which) {
  return std::string(which.param ? "direct" : "posix");
});

}  // namespace
}  // namespace sluice::storage
