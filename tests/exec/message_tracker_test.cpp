// The outcomes of commits, by messages: who tells whom, and what every rank then knows.
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

#include "exec/notify/completion_tracker.hpp"
#include "exec/notify/outcome_relays.hpp"
#include "sluice/error.hpp"
#include "support/local_transport.hpp"

namespace sluice::test {
namespace {

using exec::OutcomeRelays;

std::vector<int> every(int step, int ranks) {
  std::vector<int> writers;
  for (int rank = 0; rank < ranks; rank += step) {
    writers.push_back(rank);
  }
  return writers;
}

/// Everybody is told once, by whom it expects to be told. Returns the most that one rank tells.
std::size_t most_told(int ranks, const std::vector<int>& writers) {
  const OutcomeRelays relays(ranks, writers);
  std::vector<int> times(static_cast<std::size_t>(ranks));
  std::size_t most = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<int> told = relays.told_by(rank);
    most = std::max(most, told.size());
    if (!told.empty() && rank != 0) {
      EXPECT_TRUE(std::find(writers.begin(), writers.end(), rank) != writers.end()) << rank;
      EXPECT_EQ(relays.source_of(rank), 0);
    }
    for (const int other : told) {
      EXPECT_EQ(relays.source_of(other), rank) << other;
      ++times[static_cast<std::size_t>(other)];
    }
  }
  EXPECT_EQ(times[0], 0);
  EXPECT_EQ(std::count(times.begin() + 1, times.end(), 1), ranks - 1);
  return most;
}

TEST(OutcomeRelays, with_few_ranks_rank_0_tells_all) {
  for (const int ranks : {1, 2, 7, OutcomeRelays::most_direct}) {
    EXPECT_EQ(most_told(ranks, every(1, ranks)), static_cast<std::size_t>(ranks) - 1);
  }
}

TEST(OutcomeRelays, with_many_ranks_none_tells_many) {
  EXPECT_LE(most_told(10000, every(1, 10000)), 100U);
  EXPECT_LE(most_told(10000, every(100, 10000)), 103U);  // 99 writers that are not rank 0
  EXPECT_LE(most_told(4097, every(64, 4097)), 67U);
  EXPECT_LE(most_told(65, every(3, 65)), 9U);
  EXPECT_LE(most_told(10000, {0, 5000, 5001, 9999}), 3334U);
  // All writers on the last node, in any order.
  EXPECT_LE(most_told(1000, {999, 998, 997, 996, 995, 994, 993, 992, 991, 990}), 100U);
}

TEST(OutcomeRelays, rank_0_tells_all_where_no_others_write) {
  EXPECT_EQ(most_told(1000, {0}), 999U);
  EXPECT_EQ(most_told(1000, {0, 17}), 999U);
  EXPECT_EQ(most_told(1000, {}), 999U);
}

/// Commits on `ranks`, the second of which fails on a writer; each rank waits for both.
void commit_twice(int ranks, const std::vector<int>& writers, std::uint64_t seed) {
  exec::run_local(ranks, seed, [&](exec::Transport& transport) {
    const auto tracker = exec::make_message_tracker(transport, writers);
    const bool writes = std::count(writers.begin(), writers.end(), transport.rank()) != 0;
    for (std::uint64_t number = 1; number <= 2; ++number) {
      tracker->begin(number);
      std::exception_ptr failure;
      if (number == 2 && transport.rank() == writers.back()) {
        failure = std::make_exception_ptr(Error(Code::no_space, "no space"));
      }
      if (writes) {
        tracker->arrive(number, failure);
      }
    }
    std::uint64_t published = 0;
    while (tracker->settled() < 2 || !tracker->is_idle()) {
      tracker->poll();
      if (transport.rank() == 0 && published < 2) {
        if (const auto gathered = tracker->gathered(published + 1)) {
          tracker->settle(++published, *gathered);
        }
      }
      transport.let_others_run();
    }
    EXPECT_EQ(tracker->failed().number, 2U);
    EXPECT_EQ(tracker->failed().code, Code::no_space);
    EXPECT_EQ(tracker->failed().rank, writers.back());
    transport.barrier();
  });
}

TEST(MessageTracker, every_rank_learns_of_every_commit) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    commit_twice(5, {0, 3}, seed);
    commit_twice(100, every(7, 100), seed);
    commit_twice(100, {0, 50}, seed);
    commit_twice(81, every(1, 81), seed);
  }
}

}  // namespace
}  // namespace sluice::test
