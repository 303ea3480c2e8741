// The transport whose messages the program carries does what every Transport must, in whatever
// order messages are delivered; invalid and repeated messages are refused; a wait ends.
#include "exec/transport/carrier.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <random>
#include <thread>

#include "sluice/error.hpp"
#include "support/transport_conformance.hpp"

namespace sluice::test {
namespace {

using exec::Carrier;
using Carriers = std::vector<std::shared_ptr<Carrier>>;

Carriers carriers_of(int ranks, double timeout_s) {
  Carriers carriers;
  for (int rank = 0; rank < ranks; ++rank) {
    carriers.push_back(std::make_shared<Carrier>(rank, ranks, timeout_s));
  }
  return carriers;
}

/// Takes messages from all, keeps a few, and delivers one of them at random.
class Courier {
 public:
  Courier(Carriers& carriers, std::uint64_t seed) : carriers_(carriers), random_(seed) {
    thread_ = std::thread([this] { run(); });
  }
  ~Courier() {
    is_done_ = true;
    thread_.join();
  }

 private:
  void run() {
    std::vector<Parcel> bag;
    while (!is_done_ || !bag.empty()) {
      for (const auto& carrier : carriers_) {
        while (auto message = carrier->next_outgoing()) {
          bag.push_back(std::move(*message));
        }
      }
      if (bag.empty()) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        continue;
      }
      std::swap(bag[random_() % bag.size()], bag.back());
      carriers_[static_cast<std::size_t>(bag.back().rank)]->deliver(bag.back().bytes);
      bag.pop_back();
    }
  }

  Carriers& carriers_;
  std::mt19937_64 random_;
  std::atomic<bool> is_done_ = false;
  std::thread thread_;
};

void on_ranks(Carriers& carriers, int ranks_per_node, const std::function<void(Transport&)>& body) {
  std::vector<std::thread> ranks;
  for (const auto& carrier : carriers) {
    ranks.emplace_back([&body, carrier, ranks_per_node] {
      const auto transport = exec::make_carried(carrier, ranks_per_node);
      body(*transport);
    });
  }
  for (std::thread& rank : ranks) {
    rank.join();
  }
}

TEST(CarriedTransport, DoesWhatEveryTransportMust) {
  for (const int ranks : {1, 3}) {
    Carriers carriers = carriers_of(ranks, 60);
    const Courier courier(carriers, 7);
    on_ranks(carriers, 2, [&](Transport& transport) {
      EXPECT_EQ(transport.nodes(), (ranks + 1) / 2);
      check_transport(transport);
    });
  }
}

TEST(CarriedTransport, RanksOfOneHostAreOneNode) {
  Carriers carriers = carriers_of(3, 60);
  const Courier courier(carriers, 8);
  on_ranks(carriers, 0, [](Transport& transport) { EXPECT_EQ(transport.nodes(), 1); });
}

TEST(CarriedTransport, HearsLettersOfARankInTheirOrderWhateverIsBroughtFirst) {
  Carriers carriers = carriers_of(2, 60);
  constexpr int messages = 30;
  const Courier courier(carriers, 9);
  on_ranks(carriers, 0, [](Transport& transport) {
    for (int number = 0; transport.rank() == 0 && number < messages; ++number) {
      transport.send(1, 5, pattern(3, static_cast<std::uint64_t>(number)));
    }
    for (int number = 0; transport.rank() == 1 && number < messages;) {
      if (const auto message = transport.start_receive_any(5)) {
        EXPECT_TRUE(message->bytes == pattern(3, static_cast<std::uint64_t>(number))) << number;
        ++number;
      }
    }
  });
}

void expect_error(Code code, const std::string& part, const std::function<void()>& call) {
  try {
    call();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Carrier, RefusesWhatIsNoLetterAndWhatComesTwice) {
  Carrier from(0, 3, 1);
  Carrier to(2, 3, 1);
  from.send(2, {}, pattern(10, 1));
  const auto message = from.next_outgoing();
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->rank, 2);
  expect_error(Code::invalid_argument, "not a message for rank 0",
               [&] { from.deliver(message->bytes); });
  expect_error(Code::invalid_argument, "not a message", [&] { to.deliver(pattern(5, 2)); });
  to.deliver(message->bytes);
  expect_error(Code::invalid_argument, "twice", [&] { to.deliver(message->bytes); });
  EXPECT_TRUE(to.receive({})->bytes == pattern(10, 1));
  expect_error(Code::invalid_argument, "no rank 3 of 3", [] { Carrier(3, 3, 1); });
}

TEST(Carrier, AWaitEndsAtItsLimitAndWhenTheCarrierStops) {
  Carrier alone(1, 2, 0.2);
  expect_error(Code::timeout, "a message of rank 0", [&] { alone.await({}, 0, "open"); });
  Carrier patient(1, 2, 0);
  std::thread stopper([&] { patient.stop(); });
  expect_error(Code::wrong_state, "has stopped", [&] { patient.await({}, 0, "open"); });
  stopper.join();
}

}  // namespace
}  // namespace sluice::test
