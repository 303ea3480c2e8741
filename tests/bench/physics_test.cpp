// The servers and locks of bench/contended, without a mount: the cost of each operation.
#include "physics.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>

namespace sluice::contended {
namespace {

constexpr std::uint64_t stripe = 64 << 10;

Parameters quick() {
  Parameters parameters;
  parameters.targets = 4;
  parameters.stripe_bytes = stripe;
  parameters.bandwidth_bytes_per_s = 64e6;
  parameters.latency_s = 0.1e-3;
  parameters.lock_s = 0.2e-3;
  parameters.metadata_s = 0.1e-3;
  return parameters;
}

const auto nothing = [] {};

double seconds_since(TimePoint begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

TEST(Quantities, HaveUnits) {
  EXPECT_EQ(bytes_of("1MiB"), 1 << 20);
  EXPECT_EQ(bandwidth_of("100 MB/s"), 100e6);
  EXPECT_DOUBLE_EQ(seconds_of("0.5ms"), 0.5e-3);
  for (const char* wrong : {"", "1", "MiB", "1 mib", "-1MiB", "nanB", "1MiB/s"}) {
    EXPECT_THROW(bytes_of(wrong), std::invalid_argument) << wrong;
  }
}

TEST(Server, WorksWithoutGapsInTheOrderOfComing) {
  using std::chrono::seconds;
  const TimePoint zero{seconds(1000)};
  Server server;
  EXPECT_EQ(server.enter(zero, seconds(2)), zero + seconds(2));
  EXPECT_EQ(server.enter(zero + seconds(1), seconds(3)), zero + seconds(5));   // waits its turn
  EXPECT_EQ(server.enter(zero + seconds(9), seconds(1)), zero + seconds(10));  // was idle
  EXPECT_EQ(server.busy(), seconds(6));
}

TEST(Physics, AFileLiesOnTargetsInTurnAndTheNextBeginsOnTheNext) {
  Physics physics(quick());
  const auto first = physics.make_file();
  const auto second = physics.make_file();
  physics.read(*first, 0, 3 * stripe, nothing);
  physics.read(*second, stripe / 2, stripe, nothing);  // half of two stripes
  const Counters counters = physics.counters();
  EXPECT_EQ(counters.targets[0].read_bytes, stripe);
  EXPECT_EQ(counters.targets[1].read_bytes, stripe + stripe / 2);
  EXPECT_EQ(counters.targets[2].read_bytes, stripe + stripe / 2);
  EXPECT_EQ(counters.targets[3].requests, 0U);
  EXPECT_NEAR(counters.targets[1].busy_s, 1.5 * stripe / 64e6, 1e-6);
}

TEST(Physics, OneStripeInFlightHasOneTargetsBandwidth) {
  Parameters parameters = quick();
  parameters.latency_s = 2e-3;
  Physics physics(parameters);
  const auto file = physics.make_file();
  const TimePoint begin = Clock::now();
  for (std::uint64_t s = 0; s < 8; ++s) {
    physics.write(*file, 1, {s * stripe, stripe, true}, nothing);
  }
  EXPECT_GE(seconds_since(begin), 8 * (stripe / 64e6 + 2e-3));
}

TEST(Physics, StripesOfOneRequestAreServedAtTheSameTime) {
  Parameters parameters = quick();
  parameters.bandwidth_bytes_per_s = 0.256e6;  // 0.256 s a stripe
  Physics physics(parameters);
  const auto file = physics.make_file();
  const TimePoint begin = Clock::now();
  physics.write(*file, 1, {0, 4 * stripe, true}, nothing);
  EXPECT_GE(seconds_since(begin), stripe / 0.256e6);
  EXPECT_LT(seconds_since(begin), 3 * stripe / 0.256e6);  // not 4
}

TEST(Physics, AnotherProcessInAStripeCostsAHandOver) {
  Physics physics(quick());
  const auto file = physics.make_file();
  const auto hand_overs = [&] { return physics.counters().hand_overs; };
  physics.write(*file, 1, {0, 100, true}, nothing);
  physics.write(*file, 1, {100, 100, true}, nothing);
  physics.write(*file, 2, {stripe, 100, true}, nothing);
  EXPECT_EQ(hand_overs(), 0U);
  const TimePoint begin = Clock::now();
  physics.write(*file, 2, {200, 100, true}, nothing);
  physics.write(*file, 1, {300, 100, true}, nothing);
  EXPECT_EQ(hand_overs(), 2U);
  EXPECT_GE(seconds_since(begin), 2 * 0.2e-3);
  physics.write(*file, 3, {stripe - 10, 20, true}, nothing);  // in both stripes
  EXPECT_EQ(hand_overs(), 4U);
  physics.read(*file, 1, 0, nothing);
  physics.read(*file, 0, 2 * stripe, nothing);
  EXPECT_EQ(hand_overs(), 4U);
}

TEST(Physics, BytesOnTheirWayKeepNobodyButWhoSyncs) {
  Parameters parameters = quick();
  parameters.bandwidth_bytes_per_s = 0.64e6;  // 0.1 s a stripe
  parameters.dirty_bytes = stripe;
  Physics physics(parameters);
  const auto file = physics.make_file();
  const TimePoint begin = Clock::now();
  physics.write(*file, 1, {0, stripe}, nothing);
  EXPECT_LT(seconds_since(begin), stripe / 0.64e6);
  physics.write(*file, 1, {4 * stripe, 100}, nothing);  // no space at that target
  EXPECT_GE(seconds_since(begin), stripe / 0.64e6);
  physics.write(*file, 1, {stripe, stripe}, nothing);
  physics.sync(1);
  EXPECT_GE(seconds_since(begin), 2 * stripe / 0.64e6);
}

TEST(Physics, AHandOverWaitsForWhatTheOwnerHasOnItsWay) {
  Parameters parameters = quick();
  parameters.bandwidth_bytes_per_s = 0.64e6;
  Physics physics(parameters);
  const auto file = physics.make_file();
  const TimePoint begin = Clock::now();
  physics.write(*file, 1, {0, stripe}, nothing);
  EXPECT_LT(seconds_since(begin), stripe / 0.64e6);
  physics.write(*file, 2, {0, 100}, nothing);
  EXPECT_GE(seconds_since(begin), stripe / 0.64e6);
}

TEST(Physics, ATargetsHandOversAreOneAfterTheOther) {
  Parameters parameters = quick();
  parameters.lock_s = 50e-3;
  Physics physics(parameters);
  const auto file = physics.make_file();
  const auto hand_over = [&](std::uint64_t spacing) {
    for (std::uint64_t s = 0; s < 4; ++s) physics.write(*file, 1, {s * spacing, 100}, nothing);
    physics.sync(1);
    const TimePoint begin = Clock::now();
    std::vector<std::thread> threads;
    for (Client client = 2; client < 6; ++client) {
      const std::uint64_t at = (client - 2) * spacing;
      threads.emplace_back([&, client, at] { physics.write(*file, client, {at, 100}, nothing); });
    }
    for (std::thread& thread : threads) thread.join();
    return seconds_since(begin);
  };
  EXPECT_GE(hand_over(4 * stripe), 4 * 50e-3);  // stripes of one target
  const double apart_s = hand_over(stripe);     // stripe 0 goes from client 2 to 1 to 2 again
  EXPECT_LT(apart_s, 4 * 50e-3);
}

TEST(Physics, APartOfAStripeKeepsItsTargetTwice) {
  Physics physics(quick());
  const auto file = physics.make_file();
  const auto busy_bytes = [&](std::size_t target) {
    return physics.counters().targets[target].busy_s * 64e6;
  };
  physics.write(*file, 1, {0, stripe / 4}, nothing);
  EXPECT_NEAR(busy_bytes(0), stripe / 2, 64);
  physics.write(*file, 1, {stripe / 4, stripe / 2}, nothing);  // most of it, in two writes
  EXPECT_NEAR(busy_bytes(0), stripe, 64);
  physics.write(*file, 1, {3 * stripe / 4, stripe / 4}, nothing);  // now all of it
  EXPECT_NEAR(busy_bytes(0), stripe, 64);
  physics.write(*file, 2, {0, stripe / 4}, nothing);  // has not the others
  EXPECT_NEAR(busy_bytes(0), 1.5 * stripe, 64);
  physics.write(*file, 1, {stripe, stripe}, nothing);
  EXPECT_NEAR(busy_bytes(1), stripe, 64);
}

TEST(Physics, ProcessesTakeTurnsInAStripeAndThreadsOfOneDoNot) {
  Parameters parameters = quick();
  parameters.latency_s = 5e-3;
  Physics physics(parameters);
  const auto file = physics.make_file();
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  const auto run = [&](bool are_processes) {
    most = 0;
    std::vector<std::thread> threads;
    for (Client client = 1; client <= 4; ++client) {
      threads.emplace_back([&, client] {
        for (int i = 0; i < 5; ++i) {
          physics.write(*file, are_processes ? client : 9, {0, 100, true}, [&] {
            most = std::max(most.load(), ++inside);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            --inside;
          });
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return most.load();
  };
  EXPECT_EQ(run(true), 1);
  EXPECT_GE(run(false), 2);
}

TEST(Physics, CrossingRequestsNeitherHangNorLoseBytes) {
  Parameters parameters = quick();
  parameters.bandwidth_bytes_per_s = 64e9;
  parameters.latency_s = parameters.lock_s = 0;
  Physics physics(parameters);
  const auto file = physics.make_file();
  constexpr std::uint64_t writes = 300;
  std::vector<std::thread> threads;
  for (Client client = 1; client <= 8; ++client) {
    threads.emplace_back([&, client] {
      for (std::uint64_t i = 0; i < writes; ++i) {
        physics.write(*file, client, {(i * client) % 5 * stripe + 7, 3 * stripe, true}, nothing);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t written = 0;
  for (const TargetCounters& target : physics.counters().targets) written += target.written_bytes;
  EXPECT_EQ(written, 8 * writes * 3 * stripe);
}

TEST(Physics, TheMetadataServerServesOneAfterTheOther) {
  Parameters parameters = quick();
  parameters.metadata_s = 10e-3;
  Physics physics(parameters);
  const TimePoint begin = Clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { physics.open(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(seconds_since(begin), 80e-3);
  EXPECT_EQ(physics.counters().opens, 8U);
  EXPECT_NEAR(physics.counters().metadata_busy_s, 80e-3, 1e-6);
}

}  // namespace
}  // namespace sluice::contended
