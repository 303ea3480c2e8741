// A file is synced beside another one by a thread, or where there is none by the caller.
#include "storage/sync_beside.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "storage/forwarding.hpp"
#include "storage/own_process.hpp"
#include "storage/posix_calls.hpp"
#include "storage/scratch.hpp"
#include "support/faulty_storage.hpp"
#include "support/memory_storage.hpp"

namespace sluice::storage {
namespace {

std::atomic<int> syncs = 0;
std::atomic<bool> is_held = false;
std::atomic<int> syncing_cores;
std::atomic<pid_t> syncing_thread;  // not a std::thread::id, which the next thread may have again

int cores_now() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  return CPU_COUNT(&set);
}

/// Those that have just ended may be among them.
std::ptrdiff_t threads_now() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

std::shared_ptr<Storage> watched_storage() {
  syncs = 0;
  is_held = false;
  SystemCalls calls = real_system_calls();
  calls.fdatasync = [](int fd) {
    syncing_thread = ::gettid();
    syncing_cores = cores_now();
    while (is_held) std::this_thread::yield();
    ++syncs;
    return real_system_calls().fdatasync(fd);
  };
  return make_posix(calls);
}

TEST(SyncBeside, SyncsWhileTheCallerDoesSomethingElse) {
  const Scratch scratch;
  const auto storage = watched_storage();
  const auto file = storage->open(scratch / "a", Access::create);
  SyncBeside beside(*storage);
  is_held = true;
  beside.begin(*file);
  is_held = false;  // begin() would never have returned here
  EXPECT_EQ(beside.finish(), nullptr);
  EXPECT_EQ(syncs, 1);
  EXPECT_NE(syncing_thread, ::gettid());
}

TEST(SyncBeside, HasNothingToWaitForWhereNoneWasBegun) {
  const Scratch scratch;
  const auto storage = watched_storage();
  const auto file = storage->open(scratch / "a", Access::create);
  SyncBeside beside(*storage);
  EXPECT_EQ(beside.finish(), nullptr);
  beside.begin(*file);
  EXPECT_EQ(beside.finish(), nullptr);
  EXPECT_EQ(beside.finish(), nullptr);
  EXPECT_EQ(syncs, 1);
}

TEST(SyncBeside, KeepsItsThread) {
  const Scratch scratch;
  const auto storage = watched_storage();
  const auto a = storage->open(scratch / "a", Access::create);
  const auto b = storage->open(scratch / "b", Access::create);
  SyncBeside beside(*storage);
  std::vector<pid_t> threads;
  for (int i = 0; i < 100; ++i) {
    beside.begin(i % 2 == 0 ? *a : *b);
    EXPECT_EQ(beside.finish(), nullptr);
    threads.push_back(syncing_thread);
  }
  EXPECT_EQ(syncs, 100);
  EXPECT_NE(threads.front(), ::gettid());
  EXPECT_EQ(std::count(threads.begin(), threads.end(), threads.front()), 100);
}

TEST(SyncBeside, ReturnsAFailureOnce) {
  const Scratch scratch;
  const auto faults = std::make_shared<Faults>();
  FaultyStorage storage(make_posix(), faults);
  const auto bad = storage.open(scratch / "bad", Access::create);
  const auto good = storage.open(scratch / "good", Access::create);
  SyncBeside beside(storage);
  faults->add({.call = Call::sync, .path_part = "bad"});
  beside.begin(*bad);
  const std::exception_ptr failure = beside.finish();
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(error_of([&] { std::rethrow_exception(failure); }).code(), Code::io);
  beside.begin(*good);
  EXPECT_EQ(beside.finish(), nullptr);
}

TEST(SyncBeside, ItsThreadRunsWhereItIsTold) {
  const Scratch scratch;
  const auto storage = watched_storage();
  const auto file = storage->open(scratch / "a", Access::create);
  const auto cores_of_sync = [&](Cores cores) {
    SyncBeside beside(*storage, cores);
    beside.begin(*file);
    EXPECT_EQ(beside.finish(), nullptr);
    return syncing_cores.load();
  };
  const int all = cores_of_sync(Cores::any);
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(cores_of_sync(Cores::any), all);
    EXPECT_EQ(cores_of_sync(Cores::of_starter), 1);
  }).join();
}

class WatchedFile final : public ForwardingFile {
 public:
  using ForwardingFile::ForwardingFile;
  void sync() override {
    syncing_thread = ::gettid();
    ForwardingFile::sync();
  }
};

TEST(SyncBeside, WithoutThreadsTheCallerSyncs) {
  const auto storage = make_memory();
  ASSERT_FALSE(storage->in_background());
  const auto faults = std::make_shared<Faults>();
  FaultyStorage faulty(storage, faults);
  WatchedFile file(faulty.open("a", Access::create));
  SyncBeside beside(faulty);
  const auto before = faults->calls(Call::sync);
  const std::ptrdiff_t threads_before = threads_now();
  beside.begin(file);
  EXPECT_LE(threads_now(), threads_before);
  EXPECT_EQ(faults->calls(Call::sync), before);
  EXPECT_EQ(beside.finish(), nullptr);
  EXPECT_EQ(faults->calls(Call::sync), before + 1);
  EXPECT_EQ(syncing_thread, ::gettid());
}

TEST(SyncBeside, AForkedProcessEndsWithoutTheThread) {
  const Scratch scratch;
  const auto storage = watched_storage();
  const auto file = storage->open(scratch / "a", Access::create);
  HomePtr<SyncBeside> beside(new SyncBeside(*storage));
  beside->begin(*file);
  EXPECT_EQ(beside->finish(), nullptr);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    beside.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace sluice::storage
