// Sessions on real ranks: the writer threads, programs with threads of their own, many small
// pieces, reading back, a missing rank.
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <mpi.h>
#include <thread>

#include "sessions/local_sessions.hpp"
#include "support/shared_scratch.hpp"

namespace sluice::test {
namespace {

class MpiSessions : public testing::Test {
 protected:
  MpiSessions() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    options_.timeout_s = 60;
    options_.tile_bytes = 64 << 10;
  }

  std::string path(const std::string& name) const { return scratch_ / name; }
  SessionFile open(const std::string& name, Mode mode) {
    return SessionFile(MPI_COMM_WORLD, path(name), mode, options_);
  }
  static Session share(int home, Session session) {
    MPI_Bcast(&session, sizeof session, MPI_BYTE, home, MPI_COMM_WORLD);
    return session;
  }
  void expect_bytes(const std::string& name, std::uint64_t bytes) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) {
      const auto file = storage::make_posix()->open(path(name), storage::Access::read);
      ASSERT_EQ(file->size(), bytes);
      std::vector<std::byte> there(bytes);
      ASSERT_EQ(file->read(0, there), bytes);
      EXPECT_TRUE(there == bytes_at(0, bytes));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  int rank_ = 0;
  int ranks_ = 1;
  Options options_;
  SharedScratch scratch_;
};

/// An exception of the simulation, unknown to the library.
struct Diverged {};

TEST_F(MpiSessions, an_exception_on_one_rank_is_the_error_of_the_others) {
  const int last = ranks_ - 1;
  for (const bool by_poll : {false, true}) {
    Error met(Code::ok, "");
    const auto began = std::chrono::steady_clock::now();
    try {
      SessionFile out = open(by_poll ? "polled" : "closed", Mode::write);
      if (rank_ == last) {
        throw Diverged();
      }
      while (by_poll && std::chrono::steady_clock::now() - began < std::chrono::seconds(20)) {
        out.poll();
      }
      out.close();
    } catch (const Error& e) {
      met = e;
    } catch (const Diverged&) {
    }
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
    if (rank_ != last) {
      EXPECT_EQ(met.code(), Code::wrong_state) << met.what();
      EXPECT_EQ(met.rank(), last);
      EXPECT_NE(std::string(met.what()).find("was abandoned before its close"), std::string::npos)
          << met.what();
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(MpiSessions, what_a_callback_throws_in_a_close_is_the_error_of_all) {
  constexpr std::uint64_t bytes = 100000;
  const int home = ranks_ - 1;
  for (const bool of_session : {false, true}) {
    const std::string name = of_session ? "session" : "file";
    SessionFile out = open(name, Mode::write);
    Session mine;
    if (rank_ == home) {
      mine = out.start(0, bytes, {.complete = [](const Error*) { throw Diverged(); }});
    }
    const Session session = share(home, mine);
    if (rank_ == 0) {
      out.write(session, bytes_at(0, bytes).data(), bytes, 0);
    }
    const auto began = std::chrono::steady_clock::now();
    EXPECT_THROW(of_session ? out.close(session) : out.close(), Error);
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
    if (of_session) {
      out.close();
    }
    expect_bytes(name, bytes);
  }
}

TEST_F(MpiSessions, complete_comes_while_everybody_polls) {
  constexpr std::uint64_t bytes = (9 << 20) + 123;
  int completed = 0;
  SessionFile out = open("f", Mode::write);
  const int home = ranks_ - 1;
  Session mine;
  if (rank_ == home) {
    mine = out.start(0, bytes, {.complete = [&](const Error* failure) {
                       EXPECT_EQ(failure, nullptr);
                       ++completed;
                     }});
  }
  const Session session = share(home, mine);
  const std::uint64_t first = bytes * static_cast<std::uint64_t>(rank_) / ranks_;
  const std::uint64_t last = bytes * static_cast<std::uint64_t>(rank_ + 1) / ranks_;
  const auto data = bytes_at(first, last - first);
  // Backwards, in pieces of no tidy size.
  for (std::uint64_t end = data.size(); end > 0;) {
    const std::uint64_t piece = std::min<std::uint64_t>(end, 70001);
    end -= piece;
    out.write(session, data.data() + end, piece, first + end);
  }
  int all = 0;
  const auto start = std::chrono::steady_clock::now();
  while (all == 0 && std::chrono::steady_clock::now() - start < std::chrono::seconds(30)) {
    out.poll();
    MPI_Allreduce(&completed, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  EXPECT_EQ(all, 1);
  out.close();
  EXPECT_EQ(completed, rank_ == home ? 1 : 0);
  expect_bytes("f", bytes);
}

TEST_F(MpiSessions, several_threads_write) {
  constexpr std::uint64_t each = 300000;
  constexpr int threads = 4;
  options_.budget_bytes = 1 << 20;  // less than what they write
  SessionFile out = open("f", Mode::write);
  const std::uint64_t bytes = each * threads * static_cast<std::uint64_t>(ranks_);
  const Session session = share(0, rank_ == 0 ? out.start(0, bytes) : Session());
  std::atomic<int> running = threads;
  std::vector<std::thread> writers;
  for (int t = 0; t < threads; ++t) {
    writers.emplace_back([&, t] {
      const std::uint64_t first = each * static_cast<std::uint64_t>(rank_ * threads + t);
      for (std::uint64_t at = first; at < first + each; at += 1000) {
        out.write(session, bytes_at(at, 1000).data(), 1000, at);
      }
      --running;
    });
  }
  while (running > 0) {
    out.poll();
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  out.close();
  expect_bytes("f", bytes);
}

TEST_F(MpiSessions, objects_that_move_write_in_any_order) {
  // 500 objects; in each step each is on another rank, and the steps are not synchronised.
  constexpr std::uint64_t objects = 500;
  constexpr std::uint64_t object_bytes = 24;
  constexpr std::uint64_t steps = 5;
  SessionFile out = open("f", Mode::write);
  std::vector<Session> sessions;
  for (std::uint64_t step = 0; step < steps; ++step) {
    const int home = static_cast<int>(step) % ranks_;
    sessions.push_back(
        share(home, rank_ == home ? out.start(step * objects * object_bytes, objects * object_bytes)
                                  : Session()));
  }
  for (std::uint64_t step = 0; step < steps; ++step) {
    for (std::uint64_t object = 0; object < objects; ++object) {
      if (static_cast<int>((object * 7 + step) % static_cast<std::uint64_t>(ranks_)) == rank_) {
        const std::uint64_t at = (step * objects + object) * object_bytes;
        out.write(sessions[step], bytes_at(at, object_bytes).data(), object_bytes, at);
      }
    }
    out.poll();
  }
  out.close();
  expect_bytes("f", steps * objects * object_bytes);
}

TEST_F(MpiSessions, what_was_written_is_read_by_fewer_readers) {
  constexpr std::uint64_t bytes = 1000000;
  {
    SessionFile out = open("f", Mode::write);
    const Session session = share(0, rank_ == 0 ? out.start(0, bytes) : Session());
    if (rank_ == ranks_ - 1) {
      out.write(session, bytes_at(0, bytes).data(), bytes, 0);
    }
    out.close();
  }
  options_.readers = (ranks_ + 1) / 2;
  SessionFile in = open("f", Mode::read);
  const Session session = share(0, rank_ == 0 ? in.start(100, bytes - 100) : Session());
  std::vector<std::byte> got(bytes - 200);
  int answers = 0;
  in.read(session, got.data(), got.size(), 150, [&](const Error* failure) {
    EXPECT_EQ(failure, nullptr);
    ++answers;
  });
  in.wait_for_reads();
  EXPECT_EQ(answers, 1);
  EXPECT_TRUE(got == bytes_at(150, got.size()));
  in.close();
}

TEST_F(MpiSessions, a_rank_that_is_late_holds_back_nobody_else) {
  if (ranks_ == 1) {
    GTEST_SKIP() << "needs two ranks";
  }
  options_.writers = 1;
  SessionFile out = open("f", Mode::write);
  const Session first = share(0, rank_ == 0 ? out.start(0, 1000) : Session());
  const Session second = share(0, rank_ == 0 ? out.start(1000, 1000) : Session());
  if (rank_ == 0) {
    out.write(first, bytes_at(0, 1000).data(), 1000, 0);
    out.wait(first);  // no other rank has made a call
  } else if (rank_ == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    out.write(second, bytes_at(1000, 1000).data(), 1000, 1000);
  }
  out.close();
  expect_bytes("f", 2000);
}

TEST_F(MpiSessions, a_missing_rank_is_an_error_on_the_others) {
  if (ranks_ == 1) {
    GTEST_SKIP() << "needs two ranks";
  }
  options_.timeout_s = 1;
  SessionFile out = open("f", Mode::write);
  if (rank_ != 1) {
    const Error error = thrown_by([&] { out.close(); });
    EXPECT_EQ(error.code(), Code::timeout) << error.what();
  }
}

}  // namespace
}  // namespace sluice::test
