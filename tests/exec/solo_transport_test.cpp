// The transport of one rank does what every Transport must do.
#include "exec/transport/solo_transport.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "sluice/error.hpp"
#include "support/transport_conformance.hpp"

namespace sluice::test {
namespace {

TEST(SoloTransport, DoesWhatEveryTransportMust) { check_transport(*exec::make_solo()); }

TEST(SoloTransport, ReceivesGetMessagesInTheOrderOfSendingWhicheverIsAskedFirst) {
  const auto solo = exec::make_solo();
  Bytes first(3);
  Bytes second(5);
  const auto to_first = solo->start_receive(0, 7, first);
  const auto to_second = solo->start_receive(0, 7, second);
  EXPECT_FALSE(to_second->test());
  solo->send(0, 7, pattern(3, 1));
  solo->send(0, 7, pattern(5, 2));
  EXPECT_TRUE(to_second->test());
  to_first->wait();
  EXPECT_TRUE(first == pattern(3, 1));
  EXPECT_TRUE(second == pattern(5, 2));
}

TEST(SoloTransport, WhatNobodyCanSendIsATimeoutAtOnce) {
  const auto solo = exec::make_solo();
  Bytes room(4);
  try {
    solo->receive(0, 1, room);
    FAIL() << "nothing was sent";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::timeout);
  }
}

}  // namespace
}  // namespace sluice::test
