// Virtual ranks: the transport does what every Transport must do, a seed decides the order, and a
// deadlock is an error at once.
#include "support/local_transport.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sluice/error.hpp"
#include "support/transport_conformance.hpp"

namespace sluice::test {
namespace {

using exec::LocalOptions;
using exec::LocalTransport;
using exec::run_local;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The error of each rank in `body`, by rank; "" if none.
std::vector<std::string> errors_of(int ranks, std::uint64_t seed,
                                   const std::function<void(Transport&)>& body,
                                   std::vector<Code>* codes = nullptr) {
  std::vector<std::string> texts(static_cast<std::size_t>(ranks));
  std::vector<Code> found(static_cast<std::size_t>(ranks), Code::ok);
  run_local(ranks, seed, [&](Transport& t) {
    try {
      body(t);
    } catch (const Error& error) {
      texts[static_cast<std::size_t>(t.rank())] = error.what();
      found[static_cast<std::size_t>(t.rank())] = error.code();
    }
  });
  if (codes != nullptr) {
    *codes = found;
  }
  return texts;
}

class Conformance : public testing::TestWithParam<int> {};

TEST_P(Conformance, does_what_every_transport_must) {
  LocalOptions options;
  options.ranks_per_node = 2;
  run_local(GetParam(), 11, check_transport, options);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Conformance, testing::Values(1, 2, 4, 7));

TEST(Local, small_checks_hold_for_many_seeds) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    run_local(5, seed, [](Transport& t) {
      check_nodes(t);
      check_split(t);
      check_pending_across_collectives(t);
    });
  }
}

TEST(Local, a_rank_leaves) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    run_local(5, seed, check_abandon);
  }
  run_local(1, 1, check_abandon);
}

TEST(Local, many_ranks) {
  LocalOptions options;
  options.ranks_per_node = 16;
  run_local(
      128, 3,
      [](Transport& t) {
        EXPECT_EQ(t.node(), t.rank() / 16);
        EXPECT_EQ(t.nodes(), 8);
        check_nodes(t);
        std::vector<std::int64_t> one = {1};
        t.allreduce(one, Op::sum);
        EXPECT_EQ(one[0], 128);
        EXPECT_EQ(t.prefix_sum(1).below, t.rank());
        check_pending_across_collectives(t);
        auto node = t.split(t.node());
        EXPECT_EQ(node->size(), 16);
        EXPECT_EQ(node->nodes(), 1);
      },
      options);
}

// -- order
// ------------------------------------------------------------------------------------------

std::vector<std::int32_t> trace_of(std::uint64_t seed) {
  std::vector<std::int32_t> trace;
  LocalOptions options;
  options.trace = &trace;
  run_local(
      6, seed,
      [](Transport& t) {
        check_pending_across_collectives(t);
        t.barrier();
        Bytes bytes(100);
        t.broadcast(bytes, 2);
        t.gather(bytes, 1);
      },
      options);
  return trace;
}

TEST(Order, is_the_same_for_a_seed_and_another_for_another) {
  std::set<std::vector<std::int32_t>> different;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<std::int32_t> trace = trace_of(seed);
    EXPECT_GT(trace.size(), 40U);
    EXPECT_EQ(trace, trace_of(seed)) << "seed " << seed;
    different.insert(trace);
  }
  EXPECT_EQ(different.size(), 20U);
}

TEST(Order, only_one_rank_runs_at_a_time_and_knows_itself) {
  EXPECT_EQ(LocalTransport::running_rank(), -1);
  std::atomic<int> inside{0};
  run_local(8, 5, [&](Transport& t) {
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(inside.fetch_add(1), 0);
      EXPECT_EQ(LocalTransport::running_rank(), t.rank());
      EXPECT_EQ(inside.fetch_sub(1), 1);
      LocalTransport::pause();
    }
    int other = 0;
    int labelled = 0;
    std::thread helper([&] {
      other = LocalTransport::running_rank();
      LocalTransport::label_thread(t.rank());
      labelled = LocalTransport::running_rank();
    });
    helper.join();
    EXPECT_EQ(other, -1);
    EXPECT_EQ(labelled, t.rank());
  });
  EXPECT_EQ(LocalTransport::running_rank(), -1);
  LocalTransport::pause();
}

// What MPI leaves open is decided by the seed: a root may leave a broadcast before the others come.
TEST(Order, choices_that_mpi_leaves_open_are_drawn) {
  int root_left_first = 0;
  int send_ended_first = 0;
  constexpr int seed_count = 40;
  for (std::uint64_t seed = 0; seed < seed_count; ++seed) {
    bool other_came = false;
    bool received = false;
    run_local(2, seed, [&](Transport& t) {
      Bytes bytes(10);
      if (t.rank() == 0) {
        t.broadcast(bytes, 0);
        root_left_first += other_came ? 0 : 1;
        t.send(1, 0, bytes);
        send_ended_first += received ? 0 : 1;
      } else {
        for (int i = 0; i < 5; ++i) {
          LocalTransport::pause();
        }
        other_came = true;
        t.broadcast(bytes, 0);
        for (int i = 0; i < 5; ++i) {
          LocalTransport::pause();
        }
        received = true;
        t.receive(0, 0, bytes);
      }
    });
  }
  EXPECT_GT(root_left_first, 0);
  EXPECT_LT(root_left_first, seed_count);
  EXPECT_GT(send_ended_first, 0);
  EXPECT_LT(send_ended_first, seed_count);
}

// -- deadlocks
// --------------------------------------------------------------------------------------

TEST(Deadlock, names_the_rank_that_left) {
  const auto start = std::chrono::steady_clock::now();
  const auto texts = errors_of(4, 1, [](Transport& t) {
    if (t.rank() != 2) {
      t.barrier();
    }
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 1.0);
  for (int rank : {0, 1, 3}) {
    EXPECT_EQ(texts[static_cast<std::size_t>(rank)],
              "sluice: rank " + std::to_string(rank) +
                  " waited 1800 s in barrier for rank(s) 2 (rank 2 left): find out what "
                  "stopped them, or raise timeout_s if they are only slow");
  }
  EXPECT_EQ(texts[2], "");
}

TEST(Deadlock, names_the_rank_that_left_with_an_error) {
  std::vector<std::string> texts(3);
  try {
    run_local(3, 9, [&](Transport& t) {
      if (t.rank() == 1) {
        throw std::runtime_error("the disk is on fire");
      }
      try {
        t.allgather({});
      } catch (const Error& error) {
        texts[static_cast<std::size_t>(t.rank())] = error.what();
        throw;
      }
    });
    FAIL() << "the exception was lost";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the disk is on fire");  // not the timeout of rank 0
  }
  EXPECT_TRUE(contains(texts[0], "rank 1 left with an error: the disk is on fire")) << texts[0];
  EXPECT_TRUE(contains(texts[2], "in allgather for rank(s) 1 ")) << texts[2];
}

TEST(Deadlock, a_timeout_is_rethrown_where_there_is_nothing_else) {
  try {
    run_local(3, 2, [](Transport& t) {
      if (t.rank() == 0) {
        return;
      }
      t.barrier();
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::timeout);
    EXPECT_EQ(error.rank(), 1);
  }
}

TEST(Deadlock, circle_of_receives) {
  std::vector<Code> codes;
  const auto texts = errors_of(
      3, 4,
      [](Transport& t) {
        Bytes into(8);
        t.receive((t.rank() + 1) % 3, 6, into);
      },
      &codes);
  EXPECT_EQ(codes, std::vector<Code>(3, Code::timeout));
  EXPECT_TRUE(contains(texts[0],
                       "in receive (tag 6) for rank(s) 1 (rank 1 waits in receive (tag 6) "
                       "for rank(s) 2)"))
      << texts[0];
}

TEST(Deadlock, behind_a_waiting_rank_stands_the_missing_one) {
  const auto texts = errors_of(4, 4, [](Transport& t) {
    Bytes into(8);
    if (t.rank() == 1) {
      t.receive(3, 0, into);
    } else if (t.rank() != 3) {
      t.barrier();
    }
  });
  EXPECT_TRUE(contains(texts[0],
                       "in barrier for rank(s) 1, 3 (rank 1 waits in receive (tag 0) for "
                       "rank(s) 3; rank 3 left)"))
      << texts[0];
  EXPECT_TRUE(contains(texts[1], "in receive (tag 0) for rank(s) 3 (rank 3 left)")) << texts[1];
}

TEST(Deadlock, in_a_part_of_the_ranks) {
  const auto texts = errors_of(4, 8, [](Transport& t) {
    auto half = t.split(t.rank() % 2);
    if (t.rank() != 3) {
      half->barrier();
    }
  });
  EXPECT_EQ(texts[0], "");
  EXPECT_EQ(texts[2], "");
  EXPECT_TRUE(contains(texts[1], "rank 0 waited")) << texts[1];  // ranks of the part
  EXPECT_TRUE(contains(texts[1], "for rank(s) 1 (rank 1 left)")) << texts[1];
}

TEST(Deadlock, names_sixteen_ranks_at_most) {
  const auto texts = errors_of(40, 1, [](Transport& t) {
    if (t.rank() == 0) {
      t.barrier();
    }
  });
  EXPECT_TRUE(contains(texts[0], " 15, 16 and 23 more")) << texts[0];
}

TEST(Deadlock, polling_for_ever_ends) {
  LocalOptions options;
  options.idle_s = 0.05;
  EXPECT_THROW(run_local(
                   2, 3,
                   [](Transport& t) {
                     Bytes into(1);
                     if (t.rank() == 0) {
                       auto pending = t.start_receive(1, 0, into);
                       while (!pending->test()) {
                       }
                     }
                   },
                   options),
               Error);
}

TEST(Deadlock, later_calls_fail_at_once) {
  const auto texts = errors_of(2, 3, [](Transport& t) {
    if (t.rank() == 1) {
      return;
    }
    EXPECT_THROW(t.barrier(), Error);
    t.barrier();
  });
  EXPECT_TRUE(contains(texts[0], "not possible after an earlier failure")) << texts[0];
}

// -- wrong calls
// ------------------------------------------------------------------------------------

TEST(Divergent, different_collectives) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::vector<Code> codes;
    const auto texts = errors_of(
        4, seed,
        [](Transport& t) {
          Bytes bytes;
          if (t.rank() == 2) {
            t.broadcast(bytes, 2);
          } else {
            t.barrier();
          }
          t.barrier();
        },
        &codes);
    EXPECT_EQ(codes, std::vector<Code>(4, Code::divergent));
    EXPECT_EQ(texts[0], texts[3]);
    EXPECT_TRUE(contains(texts[0], "barrier") && contains(texts[0], "broadcast")) << texts[0];
  }
}

TEST(Divergent, different_lengths_of_a_message) {
  std::vector<Code> codes;
  errors_of(
      2, 1,
      [](Transport& t) {
        Bytes bytes(t.rank() == 0 ? 4 : 5);
        if (t.rank() == 0) {
          t.send(1, 0, bytes);
        } else {
          t.receive(0, 0, bytes);
        }
        t.barrier();
      },
      &codes);
  EXPECT_EQ(codes, std::vector<Code>(2, Code::divergent));
}

TEST(Divergent, a_bad_argument_is_told_to_all) {
  std::vector<Code> codes;
  const auto texts = errors_of(
      3, 1,
      [](Transport& t) {
        std::vector<Parcel> parcels;
        if (t.rank() == 2) {
          parcels = {{0, Bytes(1)}, {0, Bytes(2)}};
        }
        t.exchange(std::move(parcels));
      },
      &codes);
  EXPECT_EQ(codes, std::vector<Code>(3, Code::invalid_argument));
  for (const std::string& text : texts) {
    EXPECT_EQ(text, "sluice: rank 2: exchange: two parcels are for rank 0: join them");
  }
}

TEST(Divergent, refuses_impossible_runs) {
  const auto nothing = [](Transport&) {};
  EXPECT_THROW(run_local(0, 1, nothing), Error);
  EXPECT_THROW(run_local(8193, 1, nothing), Error);
}

// -- memory
// -----------------------------------------------------------------------------------------

TEST(Unwinding, a_message_is_withdrawn_with_its_memory) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    errors_of(2, seed, [](Transport& t) {
      if (t.rank() == 0) {
        try {
          Bytes into(100);
          auto pending = t.start_receive(1, 0, into);
          throw std::runtime_error("the caller's own");
        } catch (const std::runtime_error&) {
        }
      } else {
        const Bytes out(100);
        t.send(0, 0, out);
      }
    });
  }
}

}  // namespace
}  // namespace sluice::test
