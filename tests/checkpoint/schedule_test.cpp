// When a checkpoint is due: by the clock, by calls, by cost, by the end of the job, by signals; the
// same on every rank.
#include "api/checkpoint/schedule.hpp"

#include <csignal>
#include <cstdlib>

#include "checkpoint/states.hpp"
#include "model/clock.hpp"

namespace sluice::test {
namespace {

using detail::daly_interval_s;
using detail::Schedule;
using Verdict = Schedule::Verdict;

TEST(Schedule, DalysInterval) {
  // sqrt(2 * 60 * 86400) = 3219.94; with the further terms, by hand.
  EXPECT_NEAR(daly_interval_s(60, 86400), 3180.06, 0.05);
  EXPECT_NEAR(daly_interval_s(1e-3, 1e6), 44.72, 0.01);
  EXPECT_EQ(daly_interval_s(100, 50), 50);
  EXPECT_EQ(daly_interval_s(1000, 50), 50);
  // The minimum of the work lost to checkpoints and failures, by search: interval + cost, half an
  // interval for each failure.
  const double cost = 30;
  const double failure = 5e4;
  const auto lost = [&](double t) { return failure * (std::exp((t + cost) / failure) - 1) / t; };
  const double best = daly_interval_s(cost, failure);
  EXPECT_LT(lost(best), lost(0.9 * best));
  EXPECT_LT(lost(best), lost(1.1 * best));
}

TEST(Schedule, ByTheClock) {
  Schedule schedule({.interval_s = 10}, 1, 0, 100);
  EXPECT_EQ(schedule.ask(109, 0), Verdict::not_due);
  EXPECT_EQ(schedule.ask(110, 0), Verdict::due);
  EXPECT_EQ(schedule.ask(111, 0), Verdict::due) << "until it is saved";
  schedule.note_saved(112, 1);
  EXPECT_EQ(schedule.ask(121, 0), Verdict::not_due);
  EXPECT_EQ(schedule.ask(122, 0), Verdict::due);
  schedule.note_failed(123);
  EXPECT_EQ(schedule.ask(123.9, 0), Verdict::not_due);
  EXPECT_EQ(schedule.ask(124.1, 0), Verdict::due) << "a failed one is soon tried again";
}

TEST(Schedule, ByCalls) {
  Schedule schedule({.interval_calls = 3}, 1, 0, 0);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(schedule.ask(0, 0), Verdict::not_due);
    EXPECT_EQ(schedule.ask(0, 0), Verdict::not_due);
    EXPECT_EQ(schedule.ask(0, 0), Verdict::due);
    schedule.note_saved(0, 1);
  }
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(schedule.ask(0, 0));
  }
  schedule.note_failed(0);
  EXPECT_EQ(schedule.ask(0, 0), Verdict::due);
}

TEST(Schedule, ByCost) {
  Schedule schedule({.failure_interval_s = 86400}, 1000, 0, 0);
  EXPECT_NEAR(schedule.interval_s(), daly_interval_s(detail::assumed_cost_s, 86400), 1e-9);
  schedule.note_saved(0, 60);
  EXPECT_NEAR(schedule.interval_s(), daly_interval_s(60, 86400), 1e-9);
  EXPECT_EQ(schedule.ask(3179, 0), Verdict::not_due);
  EXPECT_EQ(schedule.ask(3181, 0), Verdict::due);
  schedule.note_saved(3181, 100);
  EXPECT_NEAR(schedule.interval_s(), daly_interval_s(80, 86400), 1e-9);
  const Schedule many({}, 1000, 0, 0);
  EXPECT_NEAR(many.interval_s(),
              daly_interval_s(detail::assumed_cost_s, detail::node_failure_interval_s / 1000),
              1e-9);
}

TEST(Schedule, TheEndOfTheJob) {
  Schedule schedule({.interval_s = 1e6}, 1, 10'000, 0);
  EXPECT_EQ(schedule.margin_s(), 30);
  EXPECT_EQ(schedule.ask(0, 9'000), Verdict::not_due);
  EXPECT_EQ(schedule.ask(20, 9'020), Verdict::not_due);
  schedule.note_saved(120, 100);  // a checkpoint takes 100 s, a step 20
  EXPECT_EQ(schedule.margin_s(), 240);
  for (double now = 140; now < 760; now += 20) {
    EXPECT_EQ(schedule.ask(now, 9'000 + now), Verdict::not_due);
  }
  EXPECT_EQ(schedule.ask(760, 9'760), Verdict::last);
  EXPECT_EQ(schedule.left_s(9'760, 5), 240);
  EXPECT_EQ(Schedule({}, 1, 0, 0).left_s(9'761, 5), 5);
  Schedule given({.margin_s = 500}, 1, 10'000, 0);
  EXPECT_EQ(given.ask(0, 9'499), Verdict::not_due);
  EXPECT_EQ(given.ask(0, 9'500), Verdict::last);
}

/// On how many calls of due() it was true, on each rank; and after which call ending() was.
TEST(Due, ASignalOfOneProcessEndsAllRanks) {
  for (const int signal : {SIGTERM, SIGUSR1}) {
    const auto storage = storage::make_memory();
    CheckpointOptions options;
    options.interval_s = 1e6;
    on_ranks(3, [&](exec::Transport& transport) {
      Checkpoint checkpoint = open_checkpoint(transport, storage, options);
      RankState state(transport.rank(), transport.size());
      state.add_to(checkpoint);
      EXPECT_FALSE(checkpoint.due());
      EXPECT_FALSE(checkpoint.ending());
      transport.barrier();
      if (transport.rank() == 2) {
        std::raise(signal);
      }
      transport.barrier();
      EXPECT_TRUE(checkpoint.due());
      EXPECT_TRUE(checkpoint.ending());
      state.set(3);
      EXPECT_TRUE(checkpoint.save(1.5));
      EXPECT_FALSE(checkpoint.due()) << "once";
      EXPECT_TRUE(checkpoint.ending());
      checkpoint.close();
    });
    expect_restored(2, storage, 1, 3, 3);
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL) << "as it was before";
  }
}

TEST(Due, HandlersOfTheProgramStay) {
  static int caught = 0;
  struct sigaction own {};
  own.sa_handler = [](int) { ++caught; };
  sigaction(SIGUSR1, &own, nullptr);
  on_ranks(1, [&](exec::Transport& transport) {
    Checkpoint checkpoint = open_checkpoint(transport, storage::make_memory());
    EXPECT_FALSE(checkpoint.due());
    std::raise(SIGUSR1);
    EXPECT_EQ(caught, 1);
    EXPECT_FALSE(checkpoint.due());
  });
  std::raise(SIGUSR1);
  EXPECT_EQ(caught, 2);
  signal(SIGUSR1, SIG_DFL);
}

TEST(Due, SlurmSaysWhenTheJobEnds) {
  const auto in_s = [](double seconds) {
    return std::to_string(
        static_cast<std::int64_t>(static_cast<double>(model::wall_clock_ns()) / 1e9 + seconds));
  };
  const auto ends = [&](const CheckpointOptions& options) {
    bool ending = false;
    on_ranks(2, [&](exec::Transport& transport) {
      Checkpoint checkpoint = open_checkpoint(transport, storage::make_memory(), options);
      ending = checkpoint.due();
      EXPECT_EQ(checkpoint.ending(), ending);
      EXPECT_FALSE(checkpoint.due());
    });
    return ending;
  };
  setenv("SLURM_JOB_END_TIME", in_s(20).c_str(), 1);
  EXPECT_TRUE(ends({}));
  EXPECT_FALSE(ends({.end_time_s = -1}));
  setenv("SLURM_JOB_END_TIME", in_s(3000).c_str(), 1);
  EXPECT_FALSE(ends({}));
  EXPECT_TRUE(ends({.margin_s = 3600}));
  unsetenv("SLURM_JOB_END_TIME");
  EXPECT_FALSE(ends({}));
}

TEST(Due, WhatSlurmDoesNotSayIsNoEnd) {
  std::vector<std::string> said;
  set_message_handler([&](const std::string& text) { said.push_back(text); });
  for (const char* text : {"2026-12-02T23:00:00", "86400", "garbage", "nan", "inf", "-5", ""}) {
    setenv("SLURM_JOB_END_TIME", text, 1);
    said.clear();
    on_ranks(2, [&](exec::Transport& transport) {
      Checkpoint checkpoint = open_checkpoint(transport, storage::make_memory(), {});
      EXPECT_FALSE(checkpoint.due() || checkpoint.ending()) << text;
    });
    ASSERT_EQ(said.size(), *text == '\0' ? 0u : 1u) << text;
    if (!said.empty()) {
      EXPECT_NE(said[0].find(std::string("SLURM_JOB_END_TIME=\"") + text + "\" is ignored"),
                std::string::npos)
          << said[0];
    }
  }
  unsetenv("SLURM_JOB_END_TIME");
  set_message_handler(nullptr);
}

}  // namespace
}  // namespace sluice::test
