// Messages between ranks without a matching receive: each arrives once, those of one rank in order.
#include "exec/transport/active_messages.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <map>

#include "exec/transport/solo_transport.hpp"
#include "support/local_transport.hpp"

namespace sluice::test {
namespace {

using exec::ActiveMessages;

std::vector<std::byte> message(int number, std::size_t bytes) {
  std::vector<std::byte> text(sizeof number + bytes);
  std::memcpy(text.data(), &number, sizeof number);
  return text;
}

int number_of(std::span<const std::byte> text) {
  int number = 0;
  std::memcpy(&number, text.data(), sizeof number);
  return number;
}

TEST(ActiveMessages, every_letter_comes_once_and_in_its_order) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const int ranks = 1 + static_cast<int>(seed % 5);
    exec::run_local(ranks, seed, [&](exec::Transport& transport) {
      ActiveMessages box(transport);
      constexpr int each = 20;
      std::map<int, int> next;  // by sender
      int heard = 0;
      const auto handle = [&](int from, std::span<const std::byte> text) {
        EXPECT_EQ(number_of(text), next[from]++);
        ++heard;
      };
      for (int number = 0; number < each; ++number) {
        for (int to = 0; to < ranks; ++to) {
          // Some longer than what a transport sends without the receiver.
          box.send(to, message(number, static_cast<std::size_t>(number) * 9000));
        }
        box.poll(handle);
      }
      while (heard < each * ranks || !box.is_idle()) {
        box.poll(handle);
      }
      EXPECT_EQ(box.unacknowledged_bytes(), 0);
      EXPECT_TRUE(box.unacknowledged_ranks().empty());
      // Others may still wait for acknowledgements of this rank: they complete the barrier.
      for (int i = 0; i < 500; ++i) {
        box.poll(handle);
      }
      transport.barrier();
      box.settle();
      EXPECT_EQ(heard, each * ranks);
    });
  }
}

TEST(ActiveMessages, who_does_not_hear_is_known) {
  exec::run_local(3, 1, [&](exec::Transport& transport) {
    ActiveMessages box(transport);
    const auto handle = [](int, std::span<const std::byte>) {};
    if (transport.rank() == 0) {
      box.send(2, message(1, 100));
      box.poll(handle);
      EXPECT_FALSE(box.is_idle());
      EXPECT_EQ(box.unacknowledged_ranks(), std::vector<int>{2});
      EXPECT_EQ(box.unacknowledged_bytes(), 100 + sizeof(int));
    }
    transport.barrier();
    for (int i = 0; i < 2000; ++i) {
      box.poll(handle);
    }
    EXPECT_TRUE(box.is_idle());
    transport.barrier();
    box.settle();
  });
}

TEST(ActiveMessages, one_rank_writes_to_itself) {
  const auto alone = exec::make_solo();
  ActiveMessages box(*alone);
  int heard = 0;
  const auto handle = [&](int from, std::span<const std::byte> text) {
    EXPECT_EQ(from, 0);
    if (++heard < 3) {
      box.send(0, message(number_of(text) + 1, 0));  // handled by the next poll
    }
  };
  box.send(0, message(0, 0));
  for (int polls = 1; polls <= 3; ++polls) {
    EXPECT_TRUE(box.poll(handle));
    EXPECT_EQ(heard, polls);
  }
  EXPECT_FALSE(box.poll(handle));
  EXPECT_TRUE(box.is_idle());
}

}  // namespace
}  // namespace sluice::test
