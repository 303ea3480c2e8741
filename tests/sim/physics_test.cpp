// The physics of the model machine: the effect of one server, lock or cache on hand-made programs.
#include <gtest/gtest.h>

#include "sim/engine.hpp"
#include "sluice/error.hpp"

namespace sluice::sim {
namespace {

constexpr std::uint64_t mib = 1 << 20;

/// Two nodes; round numbers, and only what a test switches on costs time.
Machine plain_machine() {
  Machine machine = machine_named("archer");
  machine.copy_bytes_per_s.value = 10e9;
  machine.memory_bytes_per_s.value = 100e9;
  machine.link_bytes_per_s.value = 1e9;
  machine.latency_s.value = machine.message_s.value = machine.barrier_s.value = 0;
  machine.stream_bytes_per_s.value = machine.drain_bytes_per_s.value = 50e9;
  machine.rpc_s.value = machine.lock_callback_s.value = machine.touch_s.value = 0;
  machine.sync_s.value = machine.interference.value = 0;
  machine.targets.value = 4;
  machine.stripes.value = 1;
  machine.target_bytes_per_s.value = 100e6;
  return machine;
}

double rate(const Outcome& outcome) {
  return static_cast<double>(outcome.counts.written_bytes) / outcome.durable_s;
}

TEST(Physics, OneWriterReachesTheRateOfItsTargets) {
  for (const double stripes : {1.0, 2.0, 4.0}) {
    Machine machine = plain_machine();
    machine.stripes.value = stripes;
    Programs programs(1, 1);
    programs[0] = {write(0, 0, 400 * mib), sync()};
    const double expected = stripes * 100e6;
    EXPECT_NEAR(rate(run_programs(machine, programs, 1)) / expected, 1, 0.02) << stripes;
  }
}

TEST(Physics, AStreamOrANodeMayBeTheLimit) {
  Machine machine = plain_machine();
  machine.stripes.value = 4;
  machine.stream_bytes_per_s.value = 60e6;
  Programs one(1, 1);
  one[0] = {write(0, 0, 100 * mib), sync()};
  EXPECT_NEAR(rate(run_programs(machine, one, 1)) / 60e6, 1, 0.05);
  Programs four(4, 1);
  for (int rank = 0; rank < 4; ++rank) {
    four[rank] = {write(static_cast<std::uint32_t>(rank), 0, 100 * mib), sync()};
  }
  machine.drain_bytes_per_s.value = 120e6;
  EXPECT_NEAR(rate(run_programs(machine, four, 1)) / 120e6, 1, 0.05);
}

TEST(Physics, TheCallerIsBackBeforeTheBytesAreDurable) {
  Machine machine = plain_machine();
  Programs programs(1, 1);
  programs[0] = {write(0, 0, 16 * mib), returned(), sync()};
  const Outcome cached = run_programs(machine, programs, 1);
  EXPECT_NEAR(cached.returned_s, 16 * double(mib) / 10e9, 1e-4);
  EXPECT_NEAR(cached.durable_s, 16 * double(mib) / 100e6, 0.01);
  // Beyond the dirty limit the caller proceeds at the target's speed.
  programs[0] = {write(0, 0, 132 * mib), returned(), sync()};
  const Outcome full = run_programs(machine, programs, 1);
  EXPECT_NEAR(full.returned_s, (132 - 32) * double(mib) / 100e6, 0.03);
  // Direct bytes are there when the call returns.
  programs[0] = {write(0, 0, 16 * mib, true), returned(), sync()};
  const Outcome direct = run_programs(machine, programs, 1);
  EXPECT_NEAR(direct.returned_s, direct.durable_s, 1e-9);
}

/// Two nodes alternate in writing halves of the same stripes, or of stripes of their own.
Outcome write_halves(const Machine& machine, bool in_one_stripe) {
  Programs programs(2, 2);
  const std::uint64_t half = mib / 2;
  for (int rank = 0; rank < 2; ++rank) {
    for (std::uint64_t i = 0; i < 20; ++i) {
      const std::uint64_t stripe = in_one_stripe ? i : 2 * i + static_cast<std::uint64_t>(rank);
      const std::uint64_t at = stripe * mib + (rank == 0 ? 0 : half);
      programs[rank].push_back(write(0, at, half));
      programs[rank].push_back(sync());
    }
  }
  return run_programs(machine, programs, 1);
}

TEST(Physics, TwoNodesInOneStripePayHandOvers) {
  Machine machine = plain_machine();
  machine.lock_callback_s.value = 0.1;
  const Outcome shared = write_halves(machine, true);
  const Outcome apart = write_halves(machine, false);
  EXPECT_EQ(apart.counts.handovers, 0U);
  EXPECT_EQ(shared.counts.handovers, 20U);
  EXPECT_EQ(shared.counts.written_bytes, apart.counts.written_bytes);
  EXPECT_GT(shared.durable_s, apart.durable_s + 10 * 0.1);
  // The lock already belongs to the only node.
  Programs one_node(2, 1);
  one_node[0] = {write(0, 0, mib / 2), sync()};
  one_node[1] = {write(0, mib / 2, mib / 2), sync()};
  EXPECT_EQ(run_programs(machine, one_node, 1).counts.handovers, 0U);
}

/// Each of `nodes` nodes takes over the second half of a stripe whose first half node 0 has
/// written before, all at the same time.
Outcome take_over(const Machine& machine, int nodes) {
  Programs programs(nodes, nodes);
  const std::uint64_t half = mib / 2;
  for (int rank = 1; rank < nodes; ++rank) {
    const std::uint64_t at = static_cast<std::uint64_t>(rank) * mib;
    programs[0].push_back(write(0, at, half));
    programs[rank] = {barrier(everybody), write(0, at + half, half), sync()};
  }
  programs[0].insert(programs[0].end(), {sync(), barrier(everybody)});
  return run_programs(machine, programs, 1);
}

TEST(Physics, HandOversOfATargetWaitForItsLockServer) {
  Machine machine = plain_machine();
  machine.target_bytes_per_s.value = 100e9;
  constexpr int nodes = 9;
  machine.lock_callback_s.value = 0.1;  // on the way: all at the same time
  EXPECT_NEAR(take_over(machine, nodes).durable_s, 0.1, 0.01);
  machine.lock_callback_s.value = 0;
  machine.handover_s.value = 0.1;
  EXPECT_EQ(take_over(machine, nodes).counts.handovers, 8U);
  EXPECT_NEAR(take_over(machine, nodes).durable_s, 0.8, 0.01);
  machine.stripes.value = 4;  // as many lock servers
  EXPECT_NEAR(take_over(machine, nodes).durable_s, 0.2, 0.01);
}

TEST(Physics, APartOfAStripeCostsItsTargetARead) {
  Machine machine = plain_machine();
  machine.part_read.value = 1;
  const auto seconds_of = [&](std::uint64_t first_bytes, std::uint64_t second_bytes) {
    Programs programs(1, 1);
    programs[0] = {write(0, 0, first_bytes), write(0, first_bytes, second_bytes), sync()};
    return run_programs(machine, programs, 1).durable_s;
  };
  const double whole_s = double(mib) / 100e6;
  EXPECT_NEAR(seconds_of(mib / 4, 0), whole_s / 2, 1e-4);    // as much again
  EXPECT_NEAR(seconds_of(3 * mib / 4, 0), whole_s, 1e-4);    // the rest
  EXPECT_NEAR(seconds_of(mib / 4, mib / 4), whole_s, 1e-4);  // under one lock: one part
  EXPECT_NEAR(seconds_of(mib / 2, mib / 2), whole_s, 1e-4);  // in the end the whole stripe
  EXPECT_NEAR(seconds_of(mib, mib / 4), whole_s + whole_s / 2, 1e-4);
}

TEST(Physics, AProcessMayBeAClientOfItsOwn) {
  Machine machine = plain_machine();
  Programs one_node(2, 1);
  one_node[0] = {write(0, 0, mib / 2), sync(), barrier(everybody)};
  one_node[1] = {barrier(everybody), write(0, mib / 2, mib / 2), sync()};
  EXPECT_EQ(run_programs(machine, one_node, 1).counts.handovers, 0U);
  machine.process_clients.value = 1;
  EXPECT_EQ(run_programs(machine, one_node, 1).counts.handovers, 1U);
}

TEST(Physics, ARequestMayHoldALockWhileItWaitsForAnother) {
  // Rank r has the end of stripe r and the begin of the next one: all wait for the last, one after
  // the other, where locks are taken together.
  Machine machine = plain_machine();
  machine.process_clients.value = 1;
  machine.lock_callback_s.value = 0.01;
  constexpr int ranks = 8;
  const auto seconds_of = [&] {
    Programs programs(ranks, 1);
    for (int rank = 0; rank < ranks; ++rank) {
      const std::uint64_t at = static_cast<std::uint64_t>(rank) * mib + mib / 2;
      programs[rank] = {compute(0.001 * (ranks - rank)), write(0, at, mib, true)};
    }
    const Outcome outcome = run_programs(machine, programs, 1);
    EXPECT_EQ(outcome.counts.handovers, 7U);
    return outcome.durable_s;
  };
  machine.target_bytes_per_s.value = 100e9;
  const double one_by_one_s = seconds_of();
  machine.locks_requests.value = 1;
  EXPECT_GT(seconds_of(), 3 * one_by_one_s);
}

TEST(Physics, NodesTouchATargetOneAfterTheOther) {
  Machine machine = plain_machine();
  machine.targets.value = 1;
  machine.target_bytes_per_s.value = 100e9;
  machine.touch_s.value = 1;
  constexpr int nodes = 5;
  Programs programs(nodes, nodes);
  for (int rank = 0; rank < nodes; ++rank) {
    programs[rank] = {write(static_cast<std::uint32_t>(rank), 0, 8 * mib), sync()};
  }
  const Outcome outcome = run_programs(machine, programs, 1);
  EXPECT_EQ(outcome.counts.touches, 5U);
  EXPECT_NEAR(outcome.durable_s, 4, 0.1);  // the first is answered at once
  EXPECT_NEAR(outcome.ranks[0].durable_s, 0, 0.1);
}

TEST(Physics, MessagesTakeTheLinksAndWaitToBeAdmitted) {
  Machine machine = plain_machine();
  Programs programs(3, 3);
  programs[0] = {compute(2), admit(1), receive(200 * 1000 * 1000)};
  programs[1] = {send(0, 100 * 1000 * 1000, 1), sent()};
  programs[2] = {send(0, 100 * 1000 * 1000, 1), sent()};
  const Outcome outcome = run_programs(machine, programs, 1);
  // Both links send in 0.1 s, the receiver's takes one after the other.
  EXPECT_NEAR(outcome.ranks[0].durable_s, 2.2, 0.01);
  EXPECT_EQ(outcome.moved_bytes, 200U * 1000 * 1000);
}

TEST(Physics, TheThreadWritesWhileTheRankGoesOn) {
  Machine machine = plain_machine();
  Programs programs(1, 1);
  programs.held_bytes = 64 * mib;
  programs[0] = {submit(0, 0, 32 * mib, true), submit(0, 32 * mib, 32 * mib, true), returned(),
                 compute(0.1), finish()};
  const Outcome held = run_programs(machine, programs, 1);
  EXPECT_NEAR(held.returned_s, 0, 1e-6);
  EXPECT_NEAR(held.durable_s, 64 * double(mib) / 100e6, 0.02);
  programs.held_bytes = 32 * mib;  // room for one
  EXPECT_NEAR(run_programs(machine, programs, 1).returned_s, 32 * double(mib) / 100e6, 0.02);
}

TEST(Physics, ReadsPayNoLocks) {
  Machine machine = plain_machine();
  machine.lock_callback_s.value = 0.1;
  Programs programs(2, 2);
  programs[0] = {read(0, 0, 10 * mib + 5)};
  programs[1] = {read(0, 0, 10 * mib + 5)};
  const Outcome outcome = run_programs(machine, programs, 1);
  EXPECT_EQ(outcome.counts.handovers, 0U);
  EXPECT_EQ(outcome.counts.read_bytes, 2 * (10 * mib + 5));
  EXPECT_NEAR(outcome.durable_s, 20 * double(mib) / 100e6, 0.02);
}

TEST(Physics, TheMetadataServerOpensOneAfterTheOther) {
  Machine machine = plain_machine();
  machine.opens_per_s.value = 100;
  Programs programs(50, 2);
  for (int rank = 0; rank < 50; ++rank) {
    programs[rank] = {open(static_cast<std::uint32_t>(rank))};
  }
  EXPECT_NEAR(run_programs(machine, programs, 1).durable_s, 0.5, 1e-6);
}

TEST(Physics, ARankThatWaitsForNobodyIsNamed) {
  Programs programs(2, 1);
  programs[1] = {receive(1)};
  try {
    run_programs(plain_machine(), programs, 1);
    FAIL() << "it ended";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::internal);
    EXPECT_NE(std::string(e.what()).find("rank 1"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace sluice::sim
