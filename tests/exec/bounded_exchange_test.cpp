// The exchange in rounds: every message arrives as it was sent, memory stays bounded, and a failure
// of one rank is thrown on every rank, whichever rank it is and wherever it fails.
#include "exec/exchange/bounded_exchange.hpp"

#include <gtest/gtest.h>

#include "support/local_transport.hpp"
#include "support/values.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

constexpr int tag = 990;

enum class Place { nowhere, prepare, pack, take, finish };

/// The parameters of a random exchange, known to all ranks.
struct Plan {
  std::uint64_t key = 0;
  int ranks = 1;
  std::uint64_t rounds = 0;
  std::uint64_t most_bytes = 0;  ///< of a message
  int failing = -1;
  Place place = Place::nowhere;

  std::uint64_t mixed(std::uint64_t round, int from, int to) const {
    return value_at<std::uint64_t>(
        key, (round * 64 + static_cast<std::uint64_t>(from)) * 64 + static_cast<std::uint64_t>(to));
  }
  std::uint64_t bytes(std::uint64_t round, int from, int to) const {
    const std::uint64_t mix = mixed(round, from, to);
    return mix % 3 == 0 ? 0 : mix / 3 % (most_bytes + 1);
  }
  std::byte content(std::uint64_t round, int from, int to, std::uint64_t at) const {
    return static_cast<std::byte>(mixed(round, from, to) / 7 + at * 31);
  }
};

class Party final : public exec::RoundParty {
 public:
  Party(const Plan& plan, int rank) : plan_(plan), rank_(rank) {}

  std::vector<exec::RoundMessage> incoming(std::uint64_t round) override {
    round_ = round;
    ++rounds;
    std::vector<exec::RoundMessage> messages;
    for (int from = 0; from < plan_.ranks; ++from) {
      if (const std::uint64_t bytes = plan_.bytes(round, from, rank_); bytes != 0) {
        messages.push_back({from, bytes, static_cast<std::size_t>(from)});
      }
    }
    return messages;
  }
  std::span<std::byte> landing(const exec::RoundMessage& message) override {
    if (message.bytes % 3 != 0) {
      return {};
    }
    auto& landed = landed_[message.peer];
    landed.assign(message.bytes, std::byte{0});
    return landed;
  }
  void prepare(std::uint64_t, bool failed) override {
    told_of_failure = told_of_failure || failed;
    fail_at(Place::prepare);
  }
  std::vector<exec::RoundMessage> outgoing(std::uint64_t round) override {
    std::vector<exec::RoundMessage> messages;
    for (int to = 0; to < plan_.ranks; ++to) {
      if (const std::uint64_t bytes = plan_.bytes(round, rank_, to); bytes != 0) {
        messages.push_back({to, bytes, static_cast<std::size_t>(to)});
      }
    }
    return messages;
  }
  std::span<const std::byte> in_place(const exec::RoundMessage& message) override {
    if (message.bytes % 2 == 0) {
      return {};
    }
    auto& lying = lying_[message.peer];  // until the next round
    lying.resize(message.bytes);
    fill(message, lying);
    return lying;
  }
  void pack(const exec::RoundMessage& message, std::span<std::byte> into) override {
    fail_at(Place::pack);
    EXPECT_EQ(into.size(), message.bytes);
    fill(message, into);
  }
  void take(const exec::RoundMessage& message, std::span<const std::byte> bytes) override {
    fail_at(Place::take);
    ASSERT_EQ(bytes.size(), message.bytes);
    const bool lands = message.bytes % 3 == 0 && message.rank != rank_;
    EXPECT_EQ(bytes.data() == landed_[message.peer].data(), lands);
    bool is_same = true;
    for (std::uint64_t at = 0; at < bytes.size(); ++at) {
      is_same = is_same && bytes[at] == plan_.content(round_, message.rank, rank_, at);
    }
    // Bytes from a rank that failed are arbitrary.
    EXPECT_TRUE(is_same || plan_.failing == message.rank);
    taken += bytes.size();
  }
  void finish() override {
    fail_at(Place::finish);
    is_finished = true;
  }

  std::uint64_t taken = 0;
  std::uint64_t rounds = 0;
  bool told_of_failure = false;
  bool is_finished = false;

 private:
  void fail_at(Place place) {
    if (rank_ == plan_.failing && place == plan_.place) {
      throw Error(Code::io, "met something");
    }
  }
  void fill(const exec::RoundMessage& message, std::span<std::byte> into) const {
    for (std::uint64_t at = 0; at < into.size(); ++at) {
      into[at] = plan_.content(round_, rank_, message.rank, at);
    }
  }

  const Plan& plan_;
  const int rank_;
  std::uint64_t round_ = 0;
  std::map<std::size_t, std::vector<std::byte>> lying_;
  std::map<std::size_t, std::vector<std::byte>> landed_;
};

TEST(bounded_exchange, messages_arrive_within_the_bound) {
  const int cases = case_count(100, 20, 1000);
  for (int seed = 0; seed < cases; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    Plan plan;
    plan.key = random();
    plan.ranks = static_cast<int>(pick(random, 1, 8));
    plan.rounds = pick(random, 0, 5);
    plan.most_bytes = pick(random, 1, 2000);
    const std::uint64_t send_bytes = pick(random, 1, 4000);
    exec::run_local(plan.ranks, random(), [&](exec::Transport& transport) {
      Party party(plan, transport.rank());
      exec::ExchangeBuffers buffers;
      exec::BoundedExchange(transport, tag, send_bytes, party, buffers).run(plan.rounds);
      std::uint64_t all = 0;
      std::uint64_t largest_round = 0;
      for (std::uint64_t round = 0; round < plan.rounds; ++round) {
        std::uint64_t sum = 0;
        for (int from = 0; from < plan.ranks; ++from) {
          sum += plan.bytes(round, from, transport.rank());
        }
        all += sum;
        largest_round = std::max(largest_round, sum);
      }
      EXPECT_EQ(party.taken, all);
      EXPECT_TRUE(party.is_finished);
      EXPECT_LE(buffers.received.size(), largest_round);
      EXPECT_LE(buffers.sent.size(), std::max(send_bytes, plan.most_bytes));
    });
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(bounded_exchange, a_failure_is_everybodys_and_hangs_nobody) {
  for (const Place place : {Place::prepare, Place::pack, Place::take, Place::finish}) {
    for (int seed = 0; seed < 20; ++seed) {
      Random random(static_cast<std::uint64_t>(seed));
      Plan plan;
      plan.key = random();
      plan.ranks = static_cast<int>(pick(random, 2, 6));
      plan.rounds = 6;  // enough that every rank packs and receives something
      plan.most_bytes = 500;
      plan.failing = static_cast<int>(random() % static_cast<std::uint64_t>(plan.ranks));
      plan.place = place;
      exec::run_local(plan.ranks, random(), [&](exec::Transport& transport) {
        Party party(plan, transport.rank());
        exec::ExchangeBuffers buffers;
        exec::BoundedExchange exchange(transport, tag, 700, party, buffers);
        try {
          exchange.run(plan.rounds);
          ADD_FAILURE() << "no error on rank " << transport.rank();
        } catch (const Error& e) {
          EXPECT_EQ(e.code(), Code::io);
          EXPECT_EQ(e.rank(), plan.failing);
        }
        EXPECT_EQ(party.rounds, plan.rounds);
        const bool is_late = place == Place::finish;
        EXPECT_EQ(party.is_finished, transport.rank() != plan.failing);
        EXPECT_EQ(party.told_of_failure, transport.rank() == plan.failing && !is_late);
      });
      ASSERT_FALSE(HasFailure()) << "seed " << seed << " place " << static_cast<int>(place);
    }
  }
}

}  // namespace
}  // namespace sluice::test
