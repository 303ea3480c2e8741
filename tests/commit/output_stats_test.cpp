// The results of OutputStats for given clock times and commits in flight.
#include "commit/write/output_stats.hpp"

#include <gtest/gtest.h>

namespace sluice::commit {
namespace {

double now = 0;
double clock_of_test() { return now; }

OutputStats::Look settled_at(const double& when, bool failed = false) {
  return [&when, failed] { return OutputStats::Outcome{when <= now ? when : 0, failed}; };
}

CommitCost step_of(std::uint64_t bytes) {
  CommitCost commit;
  commit.is_step = true;
  commit.durable = true;
  commit.cost.bytes = bytes;
  return commit;
}

class MonitorOf : public testing::Test {
 protected:
  MonitorOf() { now = 100; }
  /// A call of `inside_s` that ends a step.
  void commit(double inside_s, OutputStats::Look look, std::uint64_t bytes = 1000) {
    const OutputStats::Call inside(&stats_);
    now += inside_s;
    stats_.add(step_of(bytes), std::move(look));
  }
  void call(double inside_s) {
    const OutputStats::Call inside(&stats_);
    now += inside_s;
  }
  OutputStats stats_{clock_of_test};
};

TEST_F(MonitorOf, ABlockingCommitHidesNothing) {
  commit(2, {});
  now += 10;
  commit(3, {});
  const auto done = stats_.take_settled();
  ASSERT_EQ(done.size(), 2u);
  EXPECT_DOUBLE_EQ(done[0].cost.visible_s, 2);
  EXPECT_DOUBLE_EQ(done[1].cost.visible_s, 3);
  EXPECT_DOUBLE_EQ(stats_.total().visible_s, 5);
  EXPECT_DOUBLE_EQ(stats_.total().hidden_s, 0);
  EXPECT_DOUBLE_EQ(stats_.total().overlap_percent(), 0);
  EXPECT_DOUBLE_EQ(stats_.total().bytes_per_s(), 400);
  EXPECT_EQ(stats_.total().bytes, 2000u);
  EXPECT_EQ(stats_.steps(), 2u);
}

TEST_F(MonitorOf, TimeOnTheWayOutsideOfCallsIsHidden) {
  const double settled_s = 107;  // the call ends at 101
  commit(1, settled_at(settled_s));
  EXPECT_TRUE(stats_.take_settled().empty());
  now = 104;
  call(1);  // 104 to 105: visible
  EXPECT_TRUE(stats_.take_settled().empty());
  now = 120;
  call(0.5);
  const auto done = stats_.take_settled();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_DOUBLE_EQ(done[0].cost.visible_s, 1);
  EXPECT_DOUBLE_EQ(done[0].cost.hidden_s, 3 + 2);
  EXPECT_TRUE(done[0].durable);
  EXPECT_DOUBLE_EQ(stats_.total().visible_s, 2.5);
  EXPECT_DOUBLE_EQ(stats_.total().hidden_s, 5);
  EXPECT_DOUBLE_EQ(stats_.total().overlap_percent(), 100 * 5 / 7.5);
}

TEST_F(MonitorOf, SharedTimeCountsOnceInTheTotal) {
  const double first_s = 108;
  const double second_s = 110;
  commit(1, settled_at(first_s));   // 100 to 101
  commit(1, settled_at(second_s));  // to 102
  now = 115;
  call(0);
  const auto done = stats_.take_settled();
  ASSERT_EQ(done.size(), 2u);
  EXPECT_DOUBLE_EQ(done[0].cost.hidden_s, 6);
  EXPECT_DOUBLE_EQ(done[1].cost.hidden_s, 8);
  EXPECT_DOUBLE_EQ(stats_.total().hidden_s, 8);
}

TEST_F(MonitorOf, CallsNestAndFailuresAreSeen) {
  const double settled_s = 101;
  commit(1, settled_at(settled_s, true));
  {
    const OutputStats::Call outer(&stats_);
    call(2);
    EXPECT_DOUBLE_EQ(stats_.total().visible_s, 3);
  }
  EXPECT_DOUBLE_EQ(stats_.total().visible_s, 3);
  const auto done = stats_.take_settled();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_TRUE(done[0].failed);
  EXPECT_FALSE(done[0].durable);
}

TEST_F(MonitorOf, AChosenStrategyIsToldOnceAReason) {
  EXPECT_EQ(stats_.take_new_reason(), "");
  stats_.choose("shared");
  stats_.choose("shared");
  EXPECT_EQ(stats_.take_new_reason(), "shared");
  stats_.choose("shared");
  EXPECT_EQ(stats_.take_new_reason(), "");
  stats_.choose("collective");
  EXPECT_EQ(stats_.take_new_reason(), "collective");
}

TEST_F(MonitorOf, PredictionsStandBesideMeasurements) {
  stats_.compare(0.5, 0.4);
  stats_.compare(0.5, 0.8);
  EXPECT_EQ(line_of(stats_.choice(), false), "auto: 2 commits predicted to take 1 s, took 1.2 s");
  EXPECT_FALSE(is_far_off(stats_.choice()));
  const Choice slow{"", false, 1, 0.1, 0.4};
  EXPECT_NE(line_of(slow, false).find("sluice bench --on"), std::string::npos);
  EXPECT_TRUE(line_of(slow, true).ends_with(": this object store is slower than was assumed"))
      << "it has no folder";
  EXPECT_FALSE(is_far_off({"", false, 1, 0.1, 0.4})) << "slow, but not worth a word";
  EXPECT_FALSE(is_far_off({"", false, 1, 2, 16}));
  EXPECT_TRUE(is_far_off({"", false, 1, 0.1, 1.2}));
  EXPECT_FALSE(is_far_off({"", false, 1, 1.2, 0.1})) << "faster than predicted";
}

TEST(Costs, AreALineForPeopleAndOneForPrograms) {
  CommitCost commit = step_of(1536);
  commit.step = 7;
  commit.cost.visible_s = 0.25;
  commit.cost.hidden_s = 0.75;
  EXPECT_EQ(line_of(commit),
            "{\"step\":7,\"time\":null,\"bytes\":1536,\"visible_s\":0.25,\"waiting_s\":0.0,"
            "\"hidden_s\":0.75,\"overlap_percent\":75.0,\"durable\":true,\"failed\":false}\n");
  commit.cost.bytes = 3000000;
  EXPECT_EQ(line_of(commit.cost, 1, true),
            "1 step, 2.9 MiB: visible 0.250 s (0.000 s of it for room in the budget), hidden "
            "0.750 s, overlap 75 %, 3 MB/s durable");
}

}  // namespace
}  // namespace sluice::commit
