// A thread of the library may run on every core of the process, unless who starts it waits for it.
#include "storage/background_thread.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

namespace sluice::storage {
namespace {

int cores_now() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::pthread_getaffinity_np(::pthread_self(), sizeof set, &set), 0);
  return CPU_COUNT(&set);
}

int cores_of_thread(Cores cores) {
  int found = 0;
  start_background([&] { found = cores_now(); }, cores).join();
  return found;
}

TEST(BackgroundThread, IsNotBoundAsTheRankIs) {
  const int all = cores_of_thread(Cores::any);
  std::thread rank([&] {
    cpu_set_t own;
    ASSERT_EQ(::pthread_getaffinity_np(::pthread_self(), sizeof own, &own), 0);
    int first = 0;
    while (!CPU_ISSET(first, &own)) {
      ++first;
    }
    CPU_ZERO(&own);
    CPU_SET(first, &own);
    ASSERT_EQ(::pthread_setaffinity_np(::pthread_self(), sizeof own, &own), 0);
    EXPECT_EQ(cores_of_thread(Cores::any), all);
    EXPECT_EQ(cores_of_thread(Cores::of_starter), 1);
    EXPECT_EQ(cores_now(), 1);
  });
  rank.join();
}

TEST(BackgroundThread, ReceivesNoSignalOfTheProgram) {
  sigset_t blocked;
  start_background([&] { ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked); }).join();
  EXPECT_EQ(::sigismember(&blocked, SIGUSR1), 1);
  EXPECT_EQ(::sigismember(&blocked, SIGTERM), 1);
}

}  // namespace
}  // namespace sluice::storage
