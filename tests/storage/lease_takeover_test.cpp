// Processes that come to the record of a lease at one moment, whose process has ended.
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/error.hpp"
#include "storage/endings.hpp"
#include "storage/posix_calls.hpp"
#include "storage/scratch.hpp"
#include "storage/storage.hpp"
#include "support/errors.hpp"

namespace sluice::storage {
namespace {

/// As a process left it that ended while it had the lease.
void leave_record(const std::string& path) {
  const pid_t holder = ::fork();
  if (holder == 0) {
    ::_exit(make_posix()->lease(path).release() == nullptr ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(holder, &status, 0), holder);
  ASSERT_EQ(status, 0);
}

/// Another process takes the takeover record, which is not locked yet, for one that was left.
TEST(LeaseTakeover, WhoWasOvertakenAtTheTakeoverRecordWaitsForTheOther) {
  const Scratch scratch;
  static std::string path;
  static int other = -1;
  path = scratch / "out.h5";
  leave_record(path);
  SystemCalls calls = real_system_calls();
  calls.lock = [](int fd, short type) {
    const std::string takeover = lease_path(path) + "-takeover";
    const std::string name = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd));
    if (other < 0 && name == takeover) {
      ::unlink(takeover.c_str());  // the other one has done what it wanted, and a third one comes
      other = ::open(takeover.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
      EXPECT_EQ(real_system_calls().lock(other, F_WRLCK), 0);
    }
    return real_system_calls().lock(fd, type);
  };
  const auto storage = make_posix(calls);
  const Error error = test::thrown_by([&] { storage->lease(path); });
  ASSERT_GE(other, 0);
  EXPECT_EQ(error.code(), Code::locked) << error.what();
  EXPECT_TRUE(storage->exists(lease_path(path) + "-takeover")) << "the third one's";
  ::close(other);
  EXPECT_NE(storage->lease(path), nullptr);
}

}  // namespace
}  // namespace sluice::storage
