// A disk that is really full, and a limit that is really reached: Error no_space, earlier bytes
// kept, and on we go once there is space.
#include <cerrno>
#include <gtest/gtest.h>
#include <memory>
#include <signal.h>
#include <string>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "storage/scratch.hpp"
#include "storage/shared_memory.hpp"
#include "storage/small_disk.hpp"
#include "storage/spill.hpp"
#include "storage/storage.hpp"

namespace sluice::storage {
namespace {

constexpr std::uint64_t mib = 1 << 20;

class NoSpace : public testing::TestWithParam<const char*> {
 protected:
  void expect_no_space(const Error& error, const std::string& path) {
    EXPECT_EQ(error.code(), Code::no_space) << error.what();
    EXPECT_EQ(std::string(error.what()).rfind(path + ": ", 0), 0u) << error.what();
  }
  std::shared_ptr<Storage> storage_ = make(GetParam());
};

TEST_P(NoSpace, AtTheLimitOfFileSize) {
  Scratch scratch;
  rlimit old = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_action = ::signal(SIGXFSZ, SIG_IGN);
  for (const std::uint64_t limit : {std::uint64_t{100}, mib / 2, mib, mib + 100, 3 * mib + 4095}) {
    const std::string path = scratch / std::to_string(limit);
    auto file = storage_->open(path, Access::create);
    const auto bytes = random_bytes(4 * mib, limit);
    rlimit small = old;
    small.rlim_cur = limit;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const Error write = error_of([&] { file->write(0, bytes); });
    const Error reserve = error_of([&] { file->preallocate(0, 4 * mib); });
    const Error grow = error_of([&] { file->resize(4 * mib); });
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
    expect_no_space(write, path);
    expect_no_space(reserve, path);
    expect_no_space(grow, path);
    // What fits is there; nothing lies behind the limit.
    EXPECT_EQ(file->size(), limit);
    std::vector<std::byte> got(limit);
    EXPECT_EQ(file->read(0, got), limit);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes.begin()));
    // The same File goes on once it may.
    file->write(0, bytes);
    EXPECT_EQ(file->size(), 4 * mib);
  }
  ::signal(SIGXFSZ, old_action);
}

TEST_P(NoSpace, OnAFullDisk) {
  Scratch scratch;
  const std::string disk = scratch / "disk";
  std::filesystem::create_directory(disk);
  if (const std::string reason = mount_small_disk(disk, mib); !reason.empty()) {
    GTEST_SKIP() << "no small disk to fill: " << reason;
  }
  for (const std::uint64_t free_bytes :
       {std::uint64_t{0}, std::uint64_t{4096}, mib / 4, mib / 2, mib - 4096}) {
    auto filler = storage_->open(disk + "/filler", Access::create);
    filler->preallocate(0, mib - free_bytes);
    const std::string path = disk + "/a";
    auto file = storage_->open(path, Access::create);
    const auto bytes = random_bytes(mib, 9);
    expect_no_space(error_of([&] { file->preallocate(0, mib); }), path);
    expect_no_space(error_of([&] { file->write(0, bytes); }), path);
    EXPECT_LE(file->size(), free_bytes);

    // Reserved space is there when it is written, even if the disk fills up meanwhile.
    storage_->remove(disk + "/filler");
    filler.reset();
    file->resize(0);
    file->preallocate(0, mib / 2);
    auto rest = storage_->open(disk + "/rest", Access::create);
    expect_no_space(error_of([&] { rest->write(0, bytes); }), disk + "/rest");
    file->write(0, std::span(bytes).first(mib / 2));
    file->sync();
    std::vector<std::byte> got(mib / 2);
    EXPECT_EQ(file->read(0, got), got.size());
    EXPECT_TRUE(std::equal(got.begin(), got.end(), bytes.begin()));
    rest.reset();
    file.reset();
    storage_->remove(path);
    storage_->remove(disk + "/rest");
  }
  EXPECT_EQ(::umount2(disk.c_str(), MNT_DETACH), 0);
}

// The signal that goes with it would end the program: it gets the error alone.
TEST_P(NoSpace, AtTheLimitOfFileSizeWithoutASignal) {
  Scratch scratch;
  rlimit old = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_action = ::signal(SIGXFSZ, SIG_DFL);
  const std::string path = scratch / "a";
  auto file = storage_->open(path, Access::create);
  const auto bytes = random_bytes(2 * mib, 1);
  rlimit small = old;
  small.rlim_cur = mib;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Error write = error_of([&] { file->write(mib, bytes); });
  // The limit is asked for at every MiB only, but met at its byte.
  std::uint64_t reached = 0;
  const Error small_writes = error_of([&] {
    for (; reached < 2 * mib; reached += 1000) {
      file->write(reached, std::span(bytes).subspan(reached, 1000));
    }
  });
  const Error across = error_of([&] { file->write(0, bytes); });
  const Error reserve = error_of([&] { file->preallocate(0, 4 * mib); });
  const Error grow = error_of([&] { file->resize(4 * mib); });
  const Error spill = error_of([&] { const Spill big(2 * mib, 0, scratch.folder()); });
  const Error memory = error_of([&] { SharedMemory::make(2 * mib); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  sigset_t mask;
  sigset_t pending;
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &mask), 0);
  ASSERT_EQ(::sigpending(&pending), 0);
  EXPECT_EQ(::sigismember(&mask, SIGXFSZ), 0) << "the thread's mask is as it was";
  EXPECT_EQ(::sigismember(&pending, SIGXFSZ), 0);
  EXPECT_EQ(::signal(SIGXFSZ, old_action), SIG_DFL) << "no handler was put in";
  EXPECT_EQ(reached, mib / 1000 * 1000);
  for (const Error* error : {&write, &small_writes, &across, &reserve, &grow})
    expect_no_space(*error, path);
  EXPECT_EQ(spill.code(), Code::no_space) << spill.what();
  EXPECT_EQ(memory.code(), Code::no_space) << memory.what();
}

// A program that waits for the signal itself keeps one that was there before.
TEST_P(NoSpace, ASignalOfTheProgramsOwnStaysPending) {
  Scratch scratch;
  rlimit old = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  auto file = storage_->open(scratch / "a", Access::create);
  sigset_t set;
  sigset_t mask;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGXFSZ);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &set, &mask), 0);
  ASSERT_EQ(::pthread_kill(::pthread_self(), SIGXFSZ), 0);
  rlimit small = old;
  small.rlim_cur = mib;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_no_space(error_of([&] { file->resize(4 * mib); }), scratch / "a");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  const timespec at_once = {};
  EXPECT_EQ(::sigtimedwait(&set, nullptr, &at_once), SIGXFSZ);
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &mask, nullptr), 0);
}

INSTANTIATE_TEST_SUITE_P(Each, NoSpace, testing::Values("posix", "writeback", "direct"),
                         [](const auto& which) { return std::string(which.param); });

}  // namespace
}  // namespace sluice::storage
