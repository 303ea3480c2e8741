// Work is done by the threads that there are. The program stands before pthread_create, to let it
// fail.
#include "exec/encode_pool.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mutex>
#include <pthread.h>
#include <set>
#include <stdexcept>
#include <vector>

namespace {

constexpr int all = 1000;
std::atomic<int> threads_left{all};

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  return threads_left-- <= 0 ? EAGAIN
                             : reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"))(
                                   thread, attributes, run, argument);
}

namespace sluice::exec {
namespace {

TEST(EncodePool, FewerThreadsThanWanted) {
  constexpr std::size_t items = 100;
  for (const int started : {0, 1, 2, all}) {
    threads_left = started;
    std::vector<int> visits(items);
    std::mutex mutex;
    std::set<std::size_t> threads;
    for_each_in_threads(items, 4, [&](std::size_t thread, std::size_t item) {
      ++visits[item];
      const std::lock_guard lock(mutex);
      threads.insert(thread);
    });
    EXPECT_EQ(visits, std::vector<int>(items, 1)) << started;
    EXPECT_LE(threads.size(), std::min<std::size_t>(4, 1 + static_cast<std::size_t>(started)));
    EXPECT_THROW(for_each_in_threads(items, 4,
                                     [](std::size_t, std::size_t item) {
                                       if (item == 7) {
                                         throw std::runtime_error("seven");
                                       }
                                     }),
                 std::runtime_error);
  }
  threads_left = all;
}

}  // namespace
}  // namespace sluice::exec
