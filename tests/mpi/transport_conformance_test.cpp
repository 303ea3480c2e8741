// The MPI transport does what every Transport must do.
#include "support/transport_conformance.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include "exec/transport/mpi_transport.hpp"
#include "sluice/error.hpp"
#include "support/counted_heap.hpp"

namespace sluice::test {
namespace {

exec::MpiOptions quick() {
  exec::MpiOptions options;
  options.timeout_s = 30;
  return options;
}

class Conformance : public testing::Test {
 protected:
  std::unique_ptr<Transport> t_ = exec::make_mpi(MPI_COMM_WORLD, quick());
};

TEST_F(Conformance, knows_its_rank_and_size) {
  int rank = -1;
  int size = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(t_->rank(), rank);
  EXPECT_EQ(t_->size(), size);
  check_nodes(*t_);
  EXPECT_EQ(t_->nodes(), 1);  // mpirun runs the tests on one machine
}

TEST_F(Conformance, reductions) { check_reductions(*t_); }
TEST_F(Conformance, broadcast) { check_broadcast(*t_); }
TEST_F(Conformance, gathers) { check_gathers(*t_); }
TEST_F(Conformance, exchange) { check_exchange(*t_); }
TEST_F(Conformance, point_to_point) { check_point_to_point(*t_); }
TEST_F(Conformance, pending_across_collectives) { check_pending_across_collectives(*t_); }
TEST_F(Conformance, split) { check_split(*t_); }
TEST_F(Conformance, twin) { check_twin(*t_); }
TEST_F(Conformance, abandon) { check_abandon(*t_); }

// Rank 0 has its twin before any other rank calls, and sends; the others get it in theirs.
TEST_F(Conformance, a_twin_needs_no_other_rank) {
  const std::byte sent{42};
  std::unique_ptr<Transport> twin;
  std::vector<std::unique_ptr<Pending>> pending;
  if (t_->rank() == 0) {
    twin = t_->twin();
    for (int to = 1; to < t_->size(); ++to) {
      pending.push_back(twin->start_send(to, 3, {&sent, 1}));
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (t_->rank() != 0) {
    std::byte got{};
    twin = t_->twin();
    twin->receive(0, 3, {&got, 1});
    EXPECT_EQ(got, sent);
  }
  for (const auto& one : pending) {
    one->wait();
  }
}

// More than have tags on one communicator, at once and one after another. What one of them leaves
// unreceived is for no other.
TEST_F(Conformance, many_twins) {
  const int up = (t_->rank() + 1) % t_->size();
  const int down = (t_->rank() + t_->size() - 1) % t_->size();
  std::vector<std::unique_ptr<Transport>> kept;
  for (int round = 0; round < 50; ++round) {
    auto twin = t_->twin();
    const auto value = static_cast<std::byte>(round);
    std::byte got{};
    const auto send = twin->start_send(up, 5, {&value, 1});
    if (round % 3 != 0 || t_->size() == 1) {
      twin->receive(down, 5, {&got, 1});
      EXPECT_EQ(got, value);
    }
    send->wait();
    if (round % 2 == 0) {
      kept.push_back(std::move(twin));
    }
  }
  for (const auto& twin : kept) {
    check_reductions(*twin);
  }
  t_->barrier();
}

// Along a tree: of lengths about that from which bytes go to the root directly.
TEST_F(Conformance, gathers_along_a_tree) {
  exec::MpiOptions options = quick();
  options.tree_from = 1;
  auto t = exec::make_mpi(MPI_COMM_WORLD, options);
  check_gathers(*t);
  constexpr std::size_t limit = 65536;
  std::size_t round = 0;
  for (const std::size_t size : {limit / 3, limit - 17, limit - 16, limit - 15, limit, limit + 1}) {
    for (int root = 0; root < t->size(); ++root) {
      ++round;
      // The same on all, or one that differs.
      const auto length = [&](int rank) { return rank == (root + 1) % t->size() ? 10 : size; };
      const Bytes mine = pattern(length(t->rank()), key_of(t->rank(), root, round));
      const std::vector<Bytes> all = t->gather(mine, root);
      ASSERT_EQ(all.size(), t->rank() == root ? static_cast<std::size_t>(t->size()) : 0U);
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        const int from = static_cast<int>(rank);
        ASSERT_TRUE(all[rank] == pattern(length(from), key_of(from, root, round)))
            << size << " of rank " << rank << " to " << root;
      }
    }
  }
}

// What a rank holds is in proportion to what it receives: not the most that a message may have.
TEST_F(Conformance, a_sparse_exchange_of_little_holds_little) {
  constexpr std::int64_t each_bytes = 300;
  exec::MpiOptions options = quick();
  options.sparse_from = 1;
  auto t = exec::make_mpi(MPI_COMM_WORLD, options);
  const auto exchange = [&] {
    std::vector<Parcel> parcels;
    for (int to = 0; to < t->size(); ++to) {
      parcels.push_back({to, Bytes(each_bytes)});
    }
    return t->exchange(std::move(parcels));
  };
  exchange();
  t->barrier();
  const std::int64_t before = held_bytes;
  most_bytes = held_bytes;
  EXPECT_EQ(exchange().size(), static_cast<std::size_t>(t->size()));
  // Twice on each side, and what belongs to a message.
  EXPECT_LT(most_bytes - before, 2000 + t->size() * 6 * each_bytes);
}

TEST_F(Conformance, the_same_without_a_time_limit) {
  auto t = exec::make_mpi(MPI_COMM_WORLD, 0.0);
  check_reductions(*t);
  check_point_to_point(*t);
}

TEST_F(Conformance, messages_in_small_parts_and_sparse_exchange) {
  exec::MpiOptions options = quick();
  options.part_bytes = 60000;  // stands for 1 GiB: the same code splits
  options.sparse_from = 1;
  options.tree_from = 1;
  check_transport(*exec::make_mpi(MPI_COMM_WORLD, options));
}

TEST_F(Conformance, pretended_nodes) {
  exec::MpiOptions options = quick();
  options.ranks_per_node = 2;
  auto t = exec::make_mpi(MPI_COMM_WORLD, options);
  EXPECT_EQ(t->node(), t->rank() / 2);
  EXPECT_EQ(t->nodes(), (t->size() + 1) / 2);
  check_nodes(*t);
  // Without the first node the second becomes the first.
  auto later = t->split(t->rank() < 2 ? -1 : 0);
  if (later) {
    EXPECT_EQ(later->node(), t->node() - 1);
    EXPECT_EQ(later->nodes(), t->nodes() - 1);
    check_nodes(*later);
  }
}

// Sparse exchanges in quick succession, so that ranks overtake each other.
TEST_F(Conformance, sparse_exchanges_do_not_mix) {
  exec::MpiOptions options = quick();
  options.sparse_from = 1;
  auto t = exec::make_mpi(MPI_COMM_WORLD, options);
  for (std::size_t round = 0; round < 300; ++round) {
    const int to = static_cast<int>(round * 7 + static_cast<std::size_t>(t->rank())) % t->size();
    std::vector<Parcel> parcels(1);
    parcels[0] = {to, pattern(round, key_of(t->rank(), to, round))};
    const auto got = t->exchange(std::move(parcels));
    const int shift = static_cast<int>(round * 7) % t->size();
    ASSERT_EQ(got.size(), 1U);
    ASSERT_EQ(got[0].rank, (t->rank() - shift + t->size()) % t->size());
    ASSERT_TRUE(got[0].bytes == pattern(round, key_of(got[0].rank, t->rank(), round)));
  }
}

TEST_F(Conformance, refuses_bad_arguments_of_point_to_point_and_goes_on) {
  std::byte byte{};
  const auto code = [&](int rank, int tag) {
    try {
      t_->start_send(rank, tag, {&byte, 1});
    } catch (const Error& error) {
      return error.code();
    }
    return Code::ok;
  };
  EXPECT_EQ(code(t_->size(), 0), Code::invalid_argument);
  EXPECT_EQ(code(-1, 0), Code::invalid_argument);
  EXPECT_EQ(code(0, -1), Code::invalid_argument);
  EXPECT_EQ(code(0, 2147483647), Code::invalid_argument);
  t_->barrier();
}

TEST_F(Conformance, refuses_bad_communicators_and_options) {
  const auto code = [](MPI_Comm comm, const exec::MpiOptions& options) {
    try {
      exec::make_mpi(comm, options);
    } catch (const Error& error) {
      return error.code();
    }
    return Code::ok;
  };
  EXPECT_EQ(code(MPI_COMM_NULL, quick()), Code::invalid_argument);
  exec::MpiOptions bad = quick();
  bad.timeout_s = -1;
  EXPECT_EQ(code(MPI_COMM_WORLD, bad), Code::invalid_argument);
  bad = quick();
  bad.part_bytes = 0;
  EXPECT_EQ(code(MPI_COMM_WORLD, bad), Code::invalid_argument);
}

/// What one of them leaves unreceived, the next one, which may use the same communicator, does not
/// receive.
TEST_F(Conformance, one_transport_after_another) {
  constexpr int tag = 5;
  const int next = (t_->rank() + 1) % t_->size();
  const int before = (t_->rank() + t_->size() - 1) % t_->size();
  for (int round = 0; round < 20; ++round) {
    const auto t = exec::make_mpi(MPI_COMM_WORLD, quick());
    const auto value = static_cast<std::byte>(round);
    std::byte got{};
    const auto send = t->start_send(next, tag, {&value, 1});
    // What is not received is not for the next one. A send to oneself may wait for its receive.
    if (round % 2 == 1 || t->size() == 1) {
      t->receive(before, tag, {&got, 1});
      EXPECT_EQ(got, value);
    }
    send->wait();
    check_reductions(*t);
  }
}

TEST_F(Conformance, many_transports_at_once_and_again) {
  constexpr std::size_t count = 12;
  for (int again = 0; again < 3; ++again) {
    std::vector<std::unique_ptr<Transport>> all;
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(exec::make_mpi(MPI_COMM_WORLD, quick()));
    }
    for (const auto& t : all) {
      check_point_to_point(*t);
    }
    // Some ranks keep some of them while others open the next ones.
    for (std::size_t i = 0; i < count; ++i) {
      if ((i + static_cast<std::size_t>(t_->rank())) % 3 != 0) {
        all[i].reset();
      }
    }
    check_exchange(*exec::make_mpi(MPI_COMM_WORLD, quick()));
  }
}

TEST_F(Conformance, the_program_may_free_its_communicator_first) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const auto kept = exec::make_mpi(comm, quick());
  exec::make_mpi(comm, quick()).reset();
  MPI_Comm_free(&comm);
  check_transport(*kept);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  check_reductions(*exec::make_mpi(comm, quick()));
  MPI_Comm_free(&comm);
}

TEST_F(Conformance, a_pending_outlives_its_transport) {
  std::byte out{7};
  std::byte in{};
  auto receive = t_->start_receive(t_->rank(), 0, {&in, 1});
  auto send = t_->start_send(t_->rank(), 0, {&out, 1});
  t_.reset();
  send->wait();
  receive->wait();
  EXPECT_EQ(in, out);
}

}  // namespace
}  // namespace sluice::test
