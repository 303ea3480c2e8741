// A missing rank is named by all others, in time, and nothing crashes afterwards.
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <mpi.h>
#include <stdexcept>
#include <string>
#include <thread>

#include "exec/transport/mpi_transport.hpp"
#include "exec/transport/mpi_watch.hpp"
#include "model/clock.hpp"
#include "mpi/process.hpp"
#include "sluice/error.hpp"
#include "support/transport_conformance.hpp"

namespace sluice::test {
namespace {

constexpr double limit_s = 0.4;
constexpr double grace_s = 0.5;
constexpr double slack_s = 3.0;
// How long the missing rank stays away: past every other rank's limit and grace.
constexpr double away_s = limit_s + grace_s + 0.3;

exec::MpiOptions quick() {
  exec::MpiOptions options;
  options.timeout_s = limit_s;
  options.grace_s = grace_s;
  return options;
}

struct Outcome {
  Code code = Code::ok;
  int rank = -1;
  double seconds = 0;
  std::string text;
};

Outcome outcome_of(const std::function<void()>& call) {
  Outcome outcome;
  const auto start = std::chrono::steady_clock::now();
  try {
    call();
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.rank = error.rank();
    outcome.text = error.what();
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

void stay_away() { std::this_thread::sleep_for(std::chrono::duration<double>(away_s)); }

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Timeouts : public testing::Test {
 protected:
  void SetUp() override {
#ifdef MPICH_NUMVERSION
    // A message that is too long is an error of all communicators there: its handler would end us.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
#endif
    t_ = exec::make_mpi(MPI_COMM_WORLD, quick());
    MPI_Barrier(MPI_COMM_WORLD);  // a rank that fails soon would be heard of in make_mpi elsewhere
    last_ = t_->size() - 1;
    ASSERT_GE(t_->size(), 3) << "these tests need three ranks";
  }

  // `call` while `missing` sleeps: everybody else gets a timeout that names `missing`, in time.
  // `other`: a second call in which the first of them may have waited.
  void check_missing(int missing, const std::string& verb, const std::function<void()>& call,
                     const std::string& other = {}) {
    if (t_->rank() == missing) {
      stay_away();
      // The others have given up; this rank hears of it, at the latest in its second wait.
      const Outcome late = outcome_of([&] {
        call();
        t_->barrier();
      });
      EXPECT_EQ(late.code, Code::timeout) << late.text;
      EXPECT_LT(late.seconds, limit_s + slack_s);
    } else {
      const Outcome outcome = outcome_of(call);
      EXPECT_EQ(outcome.code, Code::timeout) << outcome.text;
      EXPECT_GE(outcome.seconds, limit_s);
      EXPECT_LT(outcome.seconds, limit_s + slack_s);
      EXPECT_TRUE(contains(outcome.text, "s in " + verb + " ") ||
                  (!other.empty() && contains(outcome.text, "s in " + other + " ")))
          << outcome.text;
      EXPECT_TRUE(contains(outcome.text, " for rank(s) " + std::to_string(missing)))
          << outcome.text;
      EXPECT_FALSE(contains(outcome.text, std::to_string(missing) + ",")) << outcome.text;
    }
    const Outcome again = outcome_of([&] { t_->barrier(); });
    EXPECT_EQ(again.code, Code::timeout);
    EXPECT_LT(again.seconds, 0.5);
    EXPECT_TRUE(contains(again.text, "earlier failure")) << again.text;
  }

  std::unique_ptr<Transport> t_;
  int last_ = 0;
};

TEST_F(Timeouts, barrier) {
  check_missing(last_, "barrier", [this] { t_->barrier(); });
}

TEST_F(Timeouts, allreduce) {
  check_missing(0, "allreduce", [this] {
    std::vector<std::int64_t> values(8, 1);
    t_->allreduce(values, Op::sum);
  });
}

// Rank 1 sends to the root itself; those that wait for the root hear whom the root waits for.
TEST_F(Timeouts, reduce_and_what_the_root_says_then) {
  const auto call = [this] {
    std::vector<std::int64_t> values(8, 1);
    t_->reduce(values, Op::sum, 0);
    Bytes bytes;
    t_->broadcast(bytes, 0);
  };
  // All say what the first of them has met, which is the root or one that waits for it.
  check_missing(1, "reduce", call, "broadcast");
}

TEST_F(Timeouts, allgather) {
  check_missing(t_->size() / 2, "allgather", [this] { t_->allgather(Bytes(100)); });
}

TEST_F(Timeouts, exchange) {
  check_missing(last_, "exchange", [this] { t_->exchange({}); });
}

TEST_F(Timeouts, sparse_exchange_of_much) {
  exec::MpiOptions options = quick();
  options.sparse_from = 1;
  t_ = exec::make_mpi(MPI_COMM_WORLD, options);
  check_missing(last_, "exchange", [this] {
    std::vector<Parcel> parcels;
    for (int to = 0; to < t_->size(); ++to) {
      parcels.push_back({to, Bytes(100000)});
    }
    t_->exchange(std::move(parcels));
  });
}

TEST_F(Timeouts, split) {
  check_missing(0, "split", [this] { t_->split(0); });
}

TEST_F(Timeouts, broadcast_without_its_root) {
  check_missing(0, "broadcast", [this] {
    Bytes bytes(t_->rank() == 0 ? 5 : 0);
    t_->broadcast(bytes, 0);
    t_->barrier();
  });
}

// The root waits in a part of the ranks: it still says for whom to those that wait for it.
TEST_F(Timeouts, a_root_that_waits_in_a_part) {
  const auto part = t_->split(t_->rank() == 1 ? -1 : 0);
  const Bytes mine(100);
  if (t_->rank() == last_) {
    stay_away();
  }
  const Outcome outcome = outcome_of([&] {
    if (part && t_->rank() != last_) {
      part->gather(mine, 0);
    }
    Bytes bytes;
    t_->broadcast(bytes, 0);
  });
  EXPECT_EQ(outcome.code, Code::timeout) << outcome.text;
  EXPECT_LT(outcome.seconds, limit_s + slack_s);
  const std::string last = std::to_string(last_);
  EXPECT_TRUE(contains(outcome.text, " for rank(s) " + last) ||
              contains(outcome.text, " for rank(s) 0, " + last +
                                         " (rank 0 waits in gather of some ranks for rank(s) " +
                                         last + ")"))
      << outcome.text;
  EXPECT_THROW(t_->barrier(), Error);
}

// The root of a gather names exactly who is missing, though the others have left long ago.
TEST_F(Timeouts, gather_while_the_others_compute) {
  const Bytes mine(100);
  if (t_->rank() == 0) {
    const Outcome outcome = outcome_of([&] { t_->gather(mine, 0); });
    EXPECT_EQ(outcome.code, Code::timeout);
    EXPECT_TRUE(contains(outcome.text, " for rank(s) " + std::to_string(last_) + ":"))
        << outcome.text;
  } else if (t_->rank() == last_) {
    stay_away();
  } else {
    t_->gather(mine, 0);
    stay_away();
  }
}

// Along a tree a rank waits for those below it, and everybody names who is really missing.
TEST_F(Timeouts, gather_along_a_tree) {
  exec::MpiOptions options = quick();
  options.tree_from = 1;
  t_ = exec::make_mpi(MPI_COMM_WORLD, options);
  check_missing(last_, "gather", [this] {
    const Bytes mine(100);
    for (int root = 0; root < t_->size(); ++root) {
      t_->gather(mine, root);
    }
  });
}

// Memory of a failed collective is not touched again, though the late rank's messages arrive.
TEST_F(Timeouts, large_messages_under_way) {
  const int missing = last_;
  const Outcome outcome = outcome_of([&] {
    if (t_->rank() == missing) {
      stay_away();
    }
    const Bytes mine(3 << 20);
    t_->gather(mine, 0);
    t_->allgather(mine);
    std::vector<Parcel> parcels;
    for (int to = 0; to < t_->size(); ++to) {
      parcels.push_back({to, Bytes(1 << 20)});
    }
    t_->exchange(std::move(parcels));
  });
  EXPECT_EQ(outcome.code, Code::timeout);
  t_.reset();
  auto fresh = exec::make_mpi(MPI_COMM_WORLD, 30.0);
  check_broadcast(*fresh);
}

TEST_F(Timeouts, receive_names_the_silent_sender) {
  if (t_->rank() == last_) {
    stay_away();
    return;
  }
  Bytes into(10);
  const Outcome outcome = outcome_of([&] { t_->receive(last_, 42, into); });
  EXPECT_EQ(outcome.code, Code::timeout);
  EXPECT_TRUE(contains(outcome.text, "receive (tag 42) for rank(s) " + std::to_string(last_)))
      << outcome.text;
}

// A circle of receives: everybody is there, and says so.
TEST_F(Timeouts, deadlock_of_receives) {
  Bytes into(10);
  const int down = (t_->rank() + t_->size() - 1) % t_->size();
  const Outcome outcome = outcome_of([&] { t_->receive(down, 3, into); });
  EXPECT_EQ(outcome.code, Code::timeout);
  EXPECT_LT(outcome.seconds, limit_s + slack_s);
  EXPECT_TRUE(contains(outcome.text, "waits in receive (tag 3)")) << outcome.text;
}

// The really missing rank is behind a rank that waits elsewhere.
TEST_F(Timeouts, names_the_rank_behind_the_missing_one) {
  Bytes into(10);
  if (t_->rank() == 0) {
    stay_away();
    return;
  }
  const Outcome outcome = outcome_of([&] {
    if (t_->rank() == 1) {
      t_->receive(0, 5, into);
    }
    t_->barrier();
  });
  EXPECT_EQ(outcome.code, Code::timeout);
  EXPECT_TRUE(contains(outcome.text, " 0")) << outcome.text;
}

// Long before the limit it is said once for whom ranks wait; the wait goes on.
TEST_F(Timeouts, a_long_wait_is_said) {
  exec::MpiOptions options = quick();
  options.timeout_s = 60;
  options.say_after_s = limit_s;
  options.name = "out.h5";
  t_ = exec::make_mpi(MPI_COMM_WORLD, options);
  testing::internal::CaptureStderr();
  for (int twice = 0; twice < 2; ++twice) {
    if (t_->rank() == last_) {
      stay_away();
    }
    t_->barrier();
  }
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string expected = "sluice: out.h5: rank " + std::to_string(t_->rank()) + " waited ";
  const bool is_said = said.starts_with(expected) &&
                       contains(said, " s in barrier for rank(s) " + std::to_string(last_)) &&
                       said.find(expected, 1) == std::string::npos;
  EXPECT_TRUE(said.empty() || is_said) << said;
  std::int64_t speakers = is_said ? 1 : 0;
  t_->allreduce({&speakers, 1}, exec::Op::sum);
  EXPECT_GE(speakers, t_->size() > 1 ? 1 : 0);
}

// A wait that ends while it is asked for whom says nothing: the next one is said, and only one.
TEST_F(Timeouts, a_wait_that_is_not_said_leaves_the_next_to_be_said) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  exec::MpiWatch watch(mpi::take(comm), 1, quick());
  const auto said = [&](bool is_done) {
    testing::internal::CaptureStderr();
    watch.say_missing([&] { return is_done; }, [&] { return exec::Place{.peers = {last_}}; },
                      model::now_s());
    return testing::internal::GetCapturedStderr();
  };
  if (t_->rank() != last_) {
    EXPECT_EQ(said(true), "");
    const std::string expected = " s in barrier for rank(s) " + std::to_string(last_);
    const std::string line = said(false);
    EXPECT_TRUE(contains(line, expected)) << line;
    EXPECT_EQ(said(false), "");
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_F(Timeouts, different_collectives_are_found_before_the_limit) {
  exec::MpiOptions options = quick();
  options.timeout_s = 600;
  options.say_after_s = limit_s;
  t_ = exec::make_mpi(MPI_COMM_WORLD, options);
  const Outcome outcome = outcome_of([&] {
    if (t_->rank() == last_) {
      t_->allgather(Bytes(10));
    } else {
      t_->barrier();
    }
    t_->barrier();
  });
  EXPECT_EQ(outcome.code, Code::divergent) << outcome.text;
  EXPECT_LT(outcome.seconds, limit_s + slack_s);
}

TEST_F(Timeouts, different_collectives_are_called_divergent) {
  const Outcome outcome = outcome_of([&] {
    if (t_->rank() == last_) {
      Bytes bytes;
      t_->broadcast(bytes, 0);
    } else {
      t_->barrier();
    }
    t_->barrier();
  });
  EXPECT_EQ(outcome.code, Code::divergent) << outcome.text;
  EXPECT_TRUE(contains(outcome.text, "barrier") && contains(outcome.text, "broadcast"))
      << outcome.text;
}

TEST_F(Timeouts, different_lengths_are_called_divergent_on_every_rank) {
  const Outcome outcome = outcome_of([&] {
    std::vector<std::int64_t> values(t_->rank() == last_ ? 3 : 2);
    t_->allreduce(values, Op::sum);
    t_->barrier();
  });
  EXPECT_EQ(outcome.code, Code::divergent) << outcome.text;
  EXPECT_LT(outcome.seconds, limit_s);
}

TEST_F(Timeouts, different_ranks_per_node_are_called_divergent_on_every_rank) {
  for (const int own : {0, 1}) {
    exec::MpiOptions options = quick();
    options.ranks_per_node = t_->rank() == last_ ? 2 : own;
    const Outcome outcome = outcome_of([&] { exec::make_mpi(MPI_COMM_WORLD, options); });
    EXPECT_EQ(outcome.code, Code::divergent) << outcome.text;
    EXPECT_TRUE(contains(outcome.text, "ranks_per_node")) << outcome.text;
    EXPECT_LT(outcome.seconds, limit_s);
  }
}

// One rank's bad argument is every rank's error, with the same text, long before the limit.
TEST_F(Timeouts, a_bad_argument_is_told_to_all) {
  const Outcome outcome = outcome_of([&] {
    std::vector<Parcel> parcels;
    if (t_->rank() == last_) {
      parcels = {{0, Bytes(1)}, {0, Bytes(2)}};
    }
    t_->exchange(std::move(parcels));
    t_->barrier();
  });
  EXPECT_EQ(outcome.code, Code::invalid_argument) << outcome.text;
  EXPECT_EQ(outcome.rank, last_);
  EXPECT_EQ(outcome.text, "sluice: rank " + std::to_string(last_) +
                              ": exchange: two parcels are for rank 0: join them");
  EXPECT_LT(outcome.seconds, limit_s);
}

// Later than the limit but within the grace: no error.
TEST_F(Timeouts, a_rank_that_comes_within_the_grace_is_welcome) {
  if (t_->rank() == 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(limit_s + grace_s / 2));
  }
  t_->barrier();
  check_reductions(*t_);
}

TEST_F(Timeouts, unwinding_with_messages_under_way_is_safe) {
  if (t_->rank() == 0) {
    EXPECT_THROW(
        {
          Bytes into(1 << 20);
          auto receive = t_->start_receive(last_, 1, into);
          throw std::runtime_error("the caller's own");
        },
        std::runtime_error);
  }
  t_->barrier();
}

TEST_F(Timeouts, opening_without_everybody) {
  if (t_->rank() == last_) {
    stay_away();
  }
  // The late rank may still find the others' call, so only they must fail.
  const Outcome outcome = outcome_of([] { exec::make_mpi(MPI_COMM_WORLD, limit_s); });
  if (t_->rank() != last_) {
    EXPECT_EQ(outcome.code, Code::timeout) << outcome.text;
  }
  EXPECT_LT(outcome.seconds, limit_s + slack_s);
}

}  // namespace
}  // namespace sluice::test
