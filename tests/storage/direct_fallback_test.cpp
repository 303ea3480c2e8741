// Where direct I/O is refused, at the open or at the first write, the bytes go through the cache.
#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "storage/posix_calls.hpp"
#include "storage/scratch.hpp"

namespace sluice::storage {
namespace {

int direct_writes = 0;
int direct_errno = 0;

ssize_t refusing_write(int fd, const void* from, size_t bytes, off_t offset) {
  if ((::fcntl(fd, F_GETFL) & O_DIRECT) == 0) return ::pwrite(fd, from, bytes, offset);
  ++direct_writes;
  errno = direct_errno;
  return -1;
}

void expect_round_trip(File& file, std::uint64_t offset) {
  const auto bytes = random_bytes(1'000'003, offset);
  file.write(offset, bytes);
  file.sync();
  std::vector<std::byte> got(bytes.size());
  EXPECT_EQ(file.read(offset, got), got.size());
  EXPECT_TRUE(got == bytes);
}

TEST(DirectFallback, AtTheOpen) {
  for (const int problem : {EINVAL, EOPNOTSUPP, EACCES}) {
    direct_errno = problem;
    Scratch scratch;
    SystemCalls calls = real_system_calls();
    calls.openat = [](int folder, const char* path, int flags, mode_t mode) {
      if ((flags & O_DIRECT) == 0) return ::openat(folder, path, flags, mode);
      errno = direct_errno;
      return -1;
    };
    auto file = make_direct(calls)->open(scratch / "a", Access::create);
    EXPECT_EQ(file->alignment(), 1u);
    expect_round_trip(*file, 5);
  }
}

TEST(DirectFallback, AtTheFirstWrite) {
  Scratch scratch;
  SystemCalls calls = real_system_calls();
  calls.pwrite = refusing_write;
  direct_errno = EINVAL;
  direct_writes = 0;
  const std::size_t before = open_descriptors();
  {
    auto file = make_direct(calls)->open(scratch / "a", Access::create);
    const bool direct = file->alignment() > 1;
    expect_round_trip(*file, 5);
    expect_round_trip(*file, 8192);
    EXPECT_EQ(direct_writes, direct ? 1 : 0);  // asked once, then never again
    EXPECT_EQ(file->alignment(), 1u);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(DirectFallback, OtherErrorsOfADirectWriteAreErrors) {
  Scratch scratch;
  SystemCalls calls = real_system_calls();
  calls.pwrite = refusing_write;
  auto file = make_direct(calls)->open(scratch / "a", Access::create);
  if (file->alignment() == 1) GTEST_SKIP() << "no direct I/O in " << scratch.folder();
  const auto bytes = random_bytes(1'000'000, 1);
  direct_errno = ENOSPC;
  EXPECT_EQ(error_of([&] { file->write(0, bytes); }).code(), Code::no_space);
  direct_errno = EIO;
  EXPECT_EQ(error_of([&] { file->write(0, bytes); }).code(), Code::io);
}

// tmpfs refuses O_DIRECT before Linux 6.6 and serves it from the cache since: right bytes in both.
TEST(DirectFallback, OnTmpfs) {
  if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP() << "no /dev/shm here";
  Scratch scratch("/dev/shm");
  const std::string path = scratch / "a";
  auto file = make_direct()->open(path, Access::create);
  const int probe = ::open(path.c_str(), O_WRONLY | O_DIRECT);
  EXPECT_EQ(file->alignment() > 1, probe >= 0);
  if (probe >= 0) ::close(probe);
  expect_round_trip(*file, 5);
  expect_round_trip(*file, 1 << 20);
}

TEST(DirectFallback, FilesForReadingNeedNoAlignment) {
  Scratch scratch;
  auto storage = make_direct();
  storage->open(scratch / "a", Access::create)->write(0, bytes_of("x"));
  EXPECT_EQ(storage->open(scratch / "a", Access::read)->alignment(), 1u);
}

}  // namespace
}  // namespace sluice::storage
