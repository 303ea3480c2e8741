// The pool of staging: who gets what, the budget, idleness, and a child of the process.
#include "exec/write/staging.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "exec/write/write_behind.hpp"
#include "sluice/error.hpp"

namespace sluice::exec {
namespace {

constexpr std::size_t mib = 1 << 20;
constexpr double long_s = 1000;

std::unique_ptr<Staging> of(StagingPool& pool, std::size_t bytes) {
  return pool.take_staging(bytes, std::numeric_limits<std::uint64_t>::max(), true);
}

TEST(staging, what_was_used_last_is_used_next) {
  StagingPool pool;
  auto first = of(pool, mib);
  auto second = of(pool, mib);
  const std::byte* const last = second->data();
  pool.give_back(std::move(first), long_s);
  pool.give_back(std::move(second), long_s);
  EXPECT_EQ(pool.idle_bytes(), 2 * mib);
  EXPECT_EQ(of(pool, mib)->data(), last);
  EXPECT_EQ(of(pool, mib / 2 + 1)->data() != nullptr, true);
}

TEST(staging, large_memory_is_kept_for_large_needs) {
  StagingPool pool;
  pool.give_back(of(pool, 8 * mib), long_s);
  EXPECT_LT(of(pool, mib)->size(), 8 * mib);
  EXPECT_EQ(of(pool, 5 * mib)->size(), 8 * mib);
}

TEST(staging, is_aligned_to_the_pages_that_it_may_have) {
  StagingPool pool;
  const auto large = of(pool, 5 * mib);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large->data()) % (2 * mib), 0u);
  large->data()[0] = large->data()[5 * mib - 1] = std::byte{1};
  const auto small = of(pool, 10);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small->data()) % 4096, 0u);
}

TEST(staging, idle_memory_makes_room_within_the_budget) {
  StagingPool pool;
  const std::uint64_t others = PooledMemory::all_bytes();
  const std::uint64_t budget = others + 6 * mib;
  pool.give_back(of(pool, 2 * mib), long_s);
  pool.give_back(of(pool, 3 * mib), long_s);
  auto four = pool.take_staging(4 * mib + 1, budget, false);
  ASSERT_NE(four, nullptr) << "both made room: 3 MiB beside it are more than the budget";
  EXPECT_EQ(pool.idle_bytes(), 0u);
  EXPECT_EQ(PooledMemory::all_bytes(), others + 4 * mib + 1);
  EXPECT_EQ(pool.take_staging(2 * mib, budget, false), nullptr);
  EXPECT_NE(pool.take_staging(2 * mib, budget, true), nullptr) << "the least that a file needs";
}

TEST(staging, is_given_back_after_a_while) {
  StagingPool pool;
  const std::uint64_t before = PooledMemory::all_bytes();
  pool.give_back(of(pool, mib), long_s);
  pool.give_back(of(pool, 2 * mib), 0.05);
  pool.give_back(of(pool, 4 * mib), 0);
  EXPECT_EQ(pool.idle_bytes(), 3 * mib) << "0 s: at once";
  for (int i = 0; i < 1000 && pool.idle_bytes() != mib; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(pool.idle_bytes(), mib);
  pool.give_back(of(pool, mib), 0.02);  // the thread has other plans for when it wakes
  for (int i = 0; i < 1000 && PooledMemory::all_bytes() != before; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(PooledMemory::all_bytes(), before);
}

TEST(staging, a_child_has_a_pool_of_its_own) {
  StagingPool& pool = StagingPool::of_process();
  pool.give_back(of(pool, 3 * mib), long_s);
  ASSERT_GE(pool.idle_bytes(), 3 * mib);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    StagingPool& own = StagingPool::of_process();
    const bool is_well = &own != &pool && own.idle_bytes() == 0;
    auto memory = of(own, 3 * mib);
    memory->data()[0] = std::byte{1};
    own.give_back(std::move(memory), 0);  // no thread: sanitizers allow none in a child
    ::_exit(is_well ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  const std::uint64_t before = pool.idle_bytes();
  auto memory = of(pool, 3 * mib);
  memory->data()[0] = std::byte{2};
  EXPECT_EQ(pool.idle_bytes(), before - 3 * mib) << "the parent's is as it was";
}

TEST(staging, buffers_of_a_writer_outlive_it) {
  const StagingLimits limits{std::numeric_limits<std::uint64_t>::max(), long_s};
  const std::byte* used = nullptr;
  for (int file = 0; file < 3; ++file) {
    WriteBehind writer(3 * mib, 3, Pace::in_thread, 2, limits);
    Staging* const staging = writer.take();
    EXPECT_TRUE(used == nullptr || used == staging->data());
    used = staging->data();
    writer.put_back(staging);
    writer.drain();
  }
}

TEST(staging, a_writer_waits_where_the_budget_has_no_more) {
  const std::uint64_t others = PooledMemory::all_bytes();
  StagingPool::of_process().make_room(others, 0);
  const StagingLimits limits{PooledMemory::all_bytes() + 3 * mib, long_s};
  WriteBehind writer(mib, 8, Pace::in_thread, 2, limits);
  WriteBehind other(mib, 8, Pace::in_thread, 2, limits);
  Staging* const held[] = {writer.take(), writer.take(), writer.take()};
  Staging* const least[] = {other.take(), other.take()};  // whatever the budget
  std::atomic<bool> has_third = false;
  std::thread third([&] {
    other.put_back(other.take());
    has_third = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(has_third);
  other.put_back(least[0]);
  third.join();
  EXPECT_EQ(other.bytes(), 2 * mib);
  other.put_back(least[1]);
  for (Staging* const staging : held) {
    writer.put_back(staging);
  }
}

}  // namespace
}  // namespace sluice::exec
