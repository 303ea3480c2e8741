// What every Transport must do: checks that run on each rank of a transport of any kind.
// Collective; failures are reported by GoogleTest on the rank that finds them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "exec/transport/transport.hpp"
#include "sluice/error.hpp"

namespace sluice::test {

using exec::Op;
using exec::Parcel;
using exec::Pending;
using exec::Transport;
using Bytes = std::vector<std::byte>;

/// `count` bytes that depend on `key` at every position.
inline Bytes pattern(std::size_t count, std::uint64_t key) {
  Bytes bytes(count);
  std::uint64_t state = key * 0x9E3779B97F4A7C15ULL + 1;
  for (std::size_t at = 0; at < count; at += sizeof state) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint64_t mixed = state ^ (state >> 29);
    std::memcpy(bytes.data() + at, &mixed, std::min(sizeof mixed, count - at));
  }
  return bytes;
}

/// Sizes around every limit of the implementations: empty, odd, one message or two, several pieces
/// of a pipeline.
inline const std::vector<std::size_t>& sizes() {
  static const std::vector<std::size_t> all = {0, 1, 77, 3999, 4000, 4001, 4096, 70001, 5 << 20};
  return all;
}

inline std::uint64_t key_of(int from, int to, std::size_t round) {
  return static_cast<std::uint64_t>(from) * 1000003 + static_cast<std::uint64_t>(to) * 10007 +
         round;
}

inline void check_reductions(Transport& t) {
  const auto rank = static_cast<std::int64_t>(t.rank());
  const auto size = static_cast<std::int64_t>(t.size());
  t.barrier();
  for (std::size_t length : {0U, 1U, 8U, 1001U, 20000U}) {
    std::vector<std::int64_t> sum(length);
    std::vector<std::int64_t> low(length);
    std::vector<std::int64_t> high(length);
    for (std::size_t i = 0; i < length; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      sum[i] = rank * at + (std::int64_t{1} << 40);
      low[i] = high[i] = (rank + at) % size - 3;
    }
    t.allreduce(sum, Op::sum);
    t.allreduce(low, Op::min);
    t.allreduce(high, Op::max);
    for (std::size_t i = 0; i < length; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      ASSERT_EQ(sum[i], at * (size * (size - 1) / 2) + size * (std::int64_t{1} << 40));
      ASSERT_EQ(low[i], -3);
      ASSERT_EQ(high[i], size - 4);
    }
  }
  std::vector<std::int64_t> gcd = {12 * (rank + 1), 0, -30 * (rank + 2), rank == 0 ? 7 : 0};
  t.allreduce(gcd, Op::gcd);
  const std::int64_t third = size == 1 ? 60 : 30;
  EXPECT_EQ(gcd, (std::vector<std::int64_t>{12, 0, third, 7}));

  for (int root = 0; root < t.size(); ++root) {
    for (std::size_t length : {0U, 3U, 20000U}) {
      std::vector<std::int64_t> sum(length, rank + 1);
      std::vector<std::int64_t> high(length, root - rank);
      t.reduce(sum, Op::sum, root);
      t.reduce(high, Op::max, root);
      if (t.rank() == root) {
        EXPECT_EQ(sum, std::vector<std::int64_t>(length, size * (size + 1) / 2));
        EXPECT_EQ(high, std::vector<std::int64_t>(length, root));
      }
    }
  }
  std::vector<std::int64_t> negative = {-30};
  t.reduce(negative, Op::gcd, 0);
  EXPECT_EQ(rank == 0 ? negative[0] : 30, 30);

  const exec::PrefixSum ranks = t.prefix_sum(rank + 1);
  EXPECT_EQ(ranks.below, rank * (rank + 1) / 2);
  EXPECT_EQ(ranks.all, size * (size + 1) / 2);
  const exec::PrefixSum large = t.prefix_sum(-(std::int64_t{1} << 40));
  EXPECT_EQ(large.below, -rank * (std::int64_t{1} << 40));
  EXPECT_EQ(large.all, -size * (std::int64_t{1} << 40));
}

inline void check_broadcast(Transport& t) {
  std::size_t round = 0;
  for (std::size_t size : sizes()) {
    for (int root : {0, t.size() - 1, t.size() / 2}) {
      const Bytes expected = pattern(size, key_of(root, 0, ++round));
      // The previous content is replaced.
      Bytes bytes = t.rank() == root ? expected : pattern(size / 2 + 3, 5);
      t.broadcast(bytes, root);
      ASSERT_TRUE(bytes == expected) << "size " << size << " root " << root;
    }
  }
}

inline void check_gathers(Transport& t) {
  std::size_t round = 0;
  for (std::size_t size : sizes()) {
    ++round;
    const auto length = [&](int rank) {
      return rank % 3 == 1 ? size / 2 : rank % 3 == 2 ? std::size_t{0} : size;
    };
    const Bytes mine = pattern(length(t.rank()), key_of(t.rank(), 0, round));
    const std::vector<Bytes> all = t.allgather(mine);
    ASSERT_EQ(all.size(), static_cast<std::size_t>(t.size()));
    const int root = static_cast<int>(round) % t.size();
    const std::vector<Bytes> at_root = t.gather(mine, root);
    ASSERT_EQ(at_root.size(), t.rank() == root ? static_cast<std::size_t>(t.size()) : 0U);
    for (int rank = 0; rank < t.size(); ++rank) {
      const Bytes expected = pattern(length(rank), key_of(rank, 0, round));
      ASSERT_TRUE(all[static_cast<std::size_t>(rank)] == expected) << size << " of rank " << rank;
      if (t.rank() == root) {
        ASSERT_TRUE(at_root[static_cast<std::size_t>(rank)] == expected) << size << " " << rank;
      }
    }
  }
}

// Who sends to whom, and how much: none, to itself, to all, a seeded half.
inline bool sends(int from, int to, int style) {
  switch (style) {
    case 0:
      return false;
    case 1:
      return from == to;
    case 2:
      return true;
    default:
      return (key_of(from, to, static_cast<std::size_t>(style)) * 0x9E3779B97F4A7C15ULL) >> 63 != 0;
  }
}

inline void check_exchange(Transport& t) {
  std::size_t round = 0;
  for (std::size_t size : sizes()) {
    for (int style = 0; style < 5; ++style) {
      ++round;
      const auto length = [&](int from, int to) {
        return (from + to) % 4 == 3 ? std::size_t{0} : size - size * ((from + 2 * to) % 3) / 4;
      };
      std::vector<Parcel> parcels;
      for (int to = t.size() - 1; to >= 0; --to) {
        if (sends(t.rank(), to, style)) {
          parcels.push_back({to, pattern(length(t.rank(), to), key_of(t.rank(), to, round))});
        }
      }
      const std::vector<Parcel> got = t.exchange(std::move(parcels));
      std::size_t next = 0;
      for (int from = 0; from < t.size(); ++from) {
        if (!sends(from, t.rank(), style)) {
          continue;
        }
        ASSERT_LT(next, got.size()) << size << " style " << style;
        ASSERT_EQ(got[next].rank, from);
        ASSERT_TRUE(got[next].bytes ==
                    pattern(length(from, t.rank()), key_of(from, t.rank(), round)))
            << size << " style " << style << " from " << from;
        ++next;
      }
      ASSERT_EQ(next, got.size());
    }
  }
}

constexpr int tag_count = 3;
constexpr int each_count = 2;  // of one tag: they must arrive in order

inline Bytes message(std::size_t size, int from, int to, int tag, int nth) {
  return pattern(size, key_of(from, to, static_cast<std::size_t>(tag * each_count + nth)) + size);
}

// Every second by wait(), the others by polling.
inline void finish(std::vector<std::unique_ptr<Pending>>& pending) {
  for (std::size_t i = 0; i < pending.size(); ++i) {
    if (i % 2 == 0) {
      pending[i]->wait();
    } else {
      while (!pending[i]->test()) {
      }
    }
    EXPECT_TRUE(pending[i]->test());
    pending[i]->wait();  // again: nothing to wait for
  }
}

// Every pair, several tags, receives posted in another order than the sends, all at once.
inline void check_crossing_messages(Transport& t, std::size_t size) {
  std::vector<std::unique_ptr<Pending>> pending;
  std::vector<Bytes> leaving;
  std::vector<Bytes> coming(static_cast<std::size_t>(t.size() * tag_count * each_count));
  leaving.reserve(coming.size());
  const auto slot = [](int rank, int tag, int nth) {
    return static_cast<std::size_t>((rank * tag_count + tag) * each_count + nth);
  };
  for (int to = 0; to < t.size(); ++to) {
    for (int tag = 0; tag < tag_count; ++tag) {
      for (int nth = 0; nth < each_count; ++nth) {
        leaving.push_back(message(size, t.rank(), to, tag, nth));
        pending.push_back(t.start_send(to, tag * 100, leaving.back()));
      }
    }
  }
  for (int from = t.size() - 1; from >= 0; --from) {
    for (int tag = tag_count - 1; tag >= 0; --tag) {
      for (int nth = 0; nth < each_count; ++nth) {
        Bytes& into = coming[slot(from, tag, nth)];
        into.resize(size);
        pending.push_back(t.start_receive(from, tag * 100, into));
      }
    }
  }
  finish(pending);
  for (int from = 0; from < t.size(); ++from) {
    for (int tag = 0; tag < tag_count; ++tag) {
      for (int nth = 0; nth < each_count; ++nth) {
        ASSERT_TRUE(coming[slot(from, tag, nth)] == message(size, from, t.rank(), tag, nth))
            << size << " from " << from << " tag " << tag;
      }
    }
  }
}

inline void check_point_to_point(Transport& t) {
  for (std::size_t size : {0U, 1U, 4097U, 300001U}) {
    check_crossing_messages(t, size);
  }
  if (t.size() == 1) {
    return;
  }
  // A ring of blocking calls, one rank the other way round.
  const int up = (t.rank() + 1) % t.size();
  const int down = (t.rank() + t.size() - 1) % t.size();
  const Bytes mine = message(100000, t.rank(), up, 0, 0);
  Bytes theirs(mine.size());
  if (t.rank() == 0) {
    t.receive(down, 9, theirs);
    t.send(up, 9, mine);
  } else {
    t.send(up, 9, mine);
    t.receive(down, 9, theirs);
  }
  EXPECT_TRUE(theirs == message(mine.size(), down, t.rank(), 0, 0));
}

// Messages in flight during other collectives.
inline void check_pending_across_collectives(Transport& t) {
  const int up = (t.rank() + 1) % t.size();
  const int down = (t.rank() + t.size() - 1) % t.size();
  const Bytes mine = pattern(200000, key_of(t.rank(), up, 1));
  Bytes theirs(mine.size());
  auto receive = t.start_receive(down, 1, theirs);
  auto send = t.start_send(up, 1, mine);
  std::vector<std::int64_t> one = {1};
  t.allreduce(one, Op::sum);
  EXPECT_EQ(one[0], t.size());
  Bytes word = pattern(10, 1);
  t.broadcast(word, 0);
  receive->wait();
  send->wait();
  EXPECT_TRUE(theirs == pattern(mine.size(), key_of(down, t.rank(), 1)));
}

inline void check_nodes(Transport& t) {
  ASSERT_GE(t.node(), 0);
  ASSERT_LT(t.node(), t.nodes());
  const auto node = static_cast<std::int64_t>(t.node());
  const std::vector<Bytes> all =
      t.allgather(std::as_bytes(std::span<const std::int64_t>(&node, 1)));
  std::int64_t next = 0;
  for (const Bytes& entry : all) {
    std::int64_t theirs = 0;
    std::memcpy(&theirs, entry.data(), sizeof theirs);
    ASSERT_LE(theirs, next);  // numbered by the lowest rank
    next = std::max(next, theirs + 1);
  }
  EXPECT_EQ(next, t.nodes());
}

inline void check_split(Transport& t) {
  const int parity = t.rank() % 2;
  auto half = t.split(parity);
  ASSERT_TRUE(half != nullptr);
  EXPECT_EQ(half->rank(), t.rank() / 2);
  EXPECT_EQ(half->size(), (t.size() + 1 - parity) / 2);
  check_nodes(*half);
  check_reductions(*half);
  // The parent works while the halves exist, and the other way round.
  t.barrier();
  half->barrier();

  auto some = t.split(t.rank() % 3 == 0 ? 7 : -1);
  ASSERT_EQ(some != nullptr, t.rank() % 3 == 0);
  if (some) {
    EXPECT_EQ(some->rank(), t.rank() / 3);
    EXPECT_EQ(some->size(), (t.size() + 2) / 3);
    auto alone = some->split(some->rank());
    ASSERT_TRUE(alone != nullptr);
    EXPECT_EQ(alone->size(), 1);
    EXPECT_EQ(alone->nodes(), 1);
    check_point_to_point(*alone);
  }
  half.reset();
  t.barrier();
}

// Messages of one tag to one rank, of a transport and of its twins: each gets its own.
inline void check_twin(Transport& t) {
  const std::unique_ptr<Transport> first = t.twin();
  const std::unique_ptr<Transport> second = t.twin();
  const std::unique_ptr<Transport> third = second->twin();
  const std::vector<Transport*> all = {&t, first.get(), second.get(), third.get()};
  for (const Transport* one : all) {
    EXPECT_EQ(one->rank(), t.rank());
    EXPECT_EQ(one->size(), t.size());
    EXPECT_EQ(one->node(), t.node());
    EXPECT_EQ(one->nodes(), t.nodes());
  }
  const int up = (t.rank() + 1) % t.size();
  const int down = (t.rank() + t.size() - 1) % t.size();
  constexpr std::size_t bytes = 500;
  std::vector<Bytes> leaving;
  std::vector<Bytes> coming(all.size(), Bytes(bytes));
  std::vector<std::unique_ptr<Pending>> pending;
  for (std::size_t i = 0; i < all.size(); ++i) {
    leaving.push_back(pattern(bytes, key_of(t.rank(), up, i)));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    pending.push_back(all[i]->start_send(up, 7, leaving[i]));
  }
  check_reductions(*second);
  for (std::size_t i = all.size(); i-- > 0;) {
    pending.push_back(all[i]->start_receive(down, 7, coming[i]));
  }
  finish(pending);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(coming[i] == pattern(bytes, key_of(down, t.rank(), i))) << i;
  }
  for (Transport* one : all) {
    check_gathers(*one);
  }
}

/// The last of several ranks leaves: what it has entered is completed, and messages pass; later
/// collectives are its error everywhere. The transport cannot be used afterwards.
inline void check_abandon(Transport& t) {
  const int last = t.size() - 1;
  const std::unique_ptr<Transport> twin = t.twin();
  Bytes word = t.rank() == 0 ? pattern(5000, 1) : Bytes();
  Bytes theirs(100);
  t.broadcast(word, 0);
  EXPECT_TRUE(word == pattern(5000, 1));
  const auto expect_error = [&](const std::exception_ptr& met) {
    ASSERT_TRUE(met != nullptr);
    try {
      std::rethrow_exception(met);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::no_space);
      EXPECT_EQ(e.rank(), last);
      EXPECT_EQ(std::string(e.what()), "rank " + std::to_string(last) + ": it has other plans");
    }
  };
  if (t.rank() == last && last != 0) {
    t.abandon({Code::no_space, "rank " + std::to_string(last) + ": it has other plans", last});
    expect_error(t.abandoned());
    twin->receive(0, 7, theirs);
    twin->send(0, 8, theirs);
    EXPECT_TRUE(theirs == pattern(theirs.size(), 2));
    return;
  }
  const auto call = [&](auto&& work) {
    try {
      work();
    } catch (const Error&) {
      return std::current_exception();
    }
    return std::exception_ptr();
  };
  std::vector<std::int64_t> one = {1};
  if (last == 0) {
    t.abandon({Code::no_space, "there is nobody to be told", 0});
    t.barrier();
    return;
  }
  expect_error(call([&] { t.allreduce(one, Op::sum); }));
  expect_error(t.abandoned());
  expect_error(call([&] { t.barrier(); }));
  if (t.rank() == 0) {
    const Bytes mine = pattern(theirs.size(), 2);
    twin->send(last, 7, mine);
    twin->receive(last, 8, theirs);
    EXPECT_TRUE(theirs == mine);
  }
}

/// All of the above but the last one.
inline void check_transport(Transport& t) {
  check_nodes(t);
  check_reductions(t);
  check_broadcast(t);
  check_gathers(t);
  check_exchange(t);
  check_point_to_point(t);
  check_pending_across_collectives(t);
  check_split(t);
  check_twin(t);
}

}  // namespace sluice::test
