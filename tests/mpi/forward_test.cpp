// Strategy forward on real ranks: steps that become durable while all ranks compute, failures and
// delays in flight, small budgets, simulated nodes; and the same for steps that are encoded in the
// background.
#include <atomic>
#include <chrono>
#include <fstream>
#include <gtest/gtest.h>
#include <mpi.h>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "api/file/file_impl.hpp"
#include "exec/transport/mpi_transport.hpp"
#include "storage/forwarding.hpp"
#include "storage/scratch.hpp"
#include "support/observing_storage.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

using storage::Access;

const Shape shape = {64, 1000};

/// A disk on which a write fails or is slow, at the Nth of a rank, or room for a step cannot be
/// made.
class Trouble final : public storage::ObservingStorage {
 public:
  struct Plan {
    std::uint64_t fails_at = 0;  ///< number of the write, from 1; 0: none
    std::uint64_t slow_at = 0;
    double slow_s = 0;
  };
  explicit Trouble(const Plan& plan) : ObservingStorage(storage::make_posix()), plan_(plan) {}

  std::unique_ptr<storage::File> open(const std::string& path, Access access) override;

  /// How a step that is being planned fares, at most for a while.
  enum class Room : std::uint8_t { there, held_back, lacking };
  void set_room(Room room) { room_ = room; }
  void before_room() const {
    for (int look = 0; look < 5000 && room_ == Room::held_back; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (room_ == Room::lacking) {
      throw Error(Code::no_space, "no space left on device");
    }
  }
  void before_write() {
    const std::uint64_t number = ++writes_;
    if (number == plan_.slow_at) {
      std::this_thread::sleep_for(std::chrono::duration<double>(plan_.slow_s));
    }
    if (number == plan_.fails_at) {
      throw Error(Code::io, "write failed: Input/output error");
    }
  }

 private:
  const Plan plan_;
  std::atomic<std::uint64_t> writes_ = 0;
  std::atomic<Room> room_ = Room::there;
};

class TroubleFile final : public storage::ForwardingFile {
 public:
  TroubleFile(std::unique_ptr<storage::File> file, Trouble& owner)
      : ForwardingFile(std::move(file)), owner_(owner) {}
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    if (bytes.size() >= 4096) {
      owner_.before_write();  // data, no metadata
    }
    inner().write(offset, bytes);
  }
  void preallocate(std::uint64_t offset, std::uint64_t length) override {
    owner_.before_room();
    inner().preallocate(offset, length);
  }

 private:
  Trouble& owner_;
};

std::unique_ptr<storage::File> Trouble::open(const std::string& path, Access access) {
  return std::make_unique<TroubleFile>(inner().open(path, access), *this);
}

/// A folder that all ranks know.
class Forward : public testing::Test {
 protected:
  explicit Forward() { connect(0, 60); }
  ~Forward() override { all_->barrier(); }

  void connect(int ranks_per_node, double timeout_s) {
    exec::MpiOptions mpi;
    mpi.timeout_s = timeout_s;
    mpi.ranks_per_node = ranks_per_node;
    all_ = exec::make_mpi(MPI_COMM_WORLD, mpi);
    options_.strategy = "forward";
    options_.timeout_s = timeout_s;
    options_.tile_bytes = 4096;
    if (folder_.empty()) {
      std::vector<std::byte> name;
      if (rank() == 0) {
        scratch_ = std::make_unique<storage::Scratch>();
        name = storage::bytes_of(scratch_->folder());
      }
      all_->broadcast(name, 0);
      folder_ = storage::text_of(name);
    }
  }
  int rank() const { return all_->rank(); }
  int size() const { return all_->size(); }
  std::string path() const { return folder_ + "/f.h5"; }
  File open(Mode mode, const std::shared_ptr<storage::Storage>& disk = storage::make_posix()) {
    return File(detail::open_on(*all_, disk, path(), mode, options_));
  }
  Ticket put_step(File& out, Variable v, std::uint64_t key) {
    Giver<double> giver;
    Step step = out.begin_step();
    giver.put(step, v, key, shape, slab(shape, rank(), size()));
    return step.end();  // the memory that was put ends here
  }
  void expect_steps(const std::vector<std::uint64_t>& keys) {
    all_->barrier();
    File in = open(Mode::read);
    ASSERT_EQ(in.steps(), keys.size());
    for (std::uint64_t s = 0; s < keys.size(); ++s) {
      expect_values<double>(in, "v", keys[s], shape, whole_box(shape), s);
    }
  }

  Options options_;
  std::unique_ptr<exec::Transport> all_;
  std::unique_ptr<storage::Scratch> scratch_;
  std::string folder_;
};

const VariableOptions in_steps{.steps = true};

/// What must be so of compressed steps too.
class ForwardEncoded : public Forward, public testing::WithParamInterface<const char*> {
 protected:
  /// Tiles for every writer.
  Variable define(File& out) const {
    const bool encodes = *GetParam() != '\0';
    return out.define<double>(
        "v", shape,
        {.steps = true, .chunk = encodes ? Shape{4, 1000} : Shape{}, .compress = GetParam()});
  }
};
INSTANTIATE_TEST_SUITE_P(Steps, ForwardEncoded, testing::Values("", "deflate:1"),
                         [](const auto& row) {
                           return *row.param != '\0' ? "compressed" : "plain";
                         });

TEST_P(ForwardEncoded, IsDurableWithoutAnotherCall) {
  File out = open(Mode::write);
  const Variable v = define(out);
  for (std::uint64_t s = 0; s < 3; ++s) {
    put_step(out, v, s);
  }
  // No rank calls the library; another reader still sees the steps.
  std::uint64_t seen = 0;
  const auto alone = exec::make_mpi(MPI_COMM_SELF, 60);
  for (int look = 0; look < 500 && seen < 3; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    try {
      File in(detail::open_on(*alone, storage::make_posix(), path(), Mode::read));
      seen = in.steps();
    } catch (const Error&) {
      // it has no name yet, or is just being changed
    }
  }
  EXPECT_EQ(seen, 3u);
  out.close();
  expect_steps({0, 1, 2});
}

TEST_F(Forward, TicketsSayWhatBecameOfAStep) {
  File out = open(Mode::write);
  const Variable v = out.define<double>("v", shape, in_steps);
  const Ticket first = put_step(out, v, 1);
  const Ticket second = put_step(out, v, 2);
  second.wait();
  EXPECT_TRUE(first.durable());
  EXPECT_TRUE(second.durable());
  EXPECT_EQ(second.step(), 1u);
  const Ticket third = put_step(out, v, 3);
  out.close();
  EXPECT_TRUE(third.durable()) << "asked after the close";
  expect_steps({1, 2, 3});
}

TEST_F(Forward, ASmallStepLikeOthersIsPlannedBehindTheCall) {
  for (const bool synced : {false, true}) {
    options_.durability = synced ? Durability::step : Durability::none;
    const auto disk = std::make_shared<Trouble>(Trouble::Plan{});
    File out = open(Mode::write, disk);
    const Variable v = out.define<double>("v", shape, in_steps);
    put_step(out, v, 0).wait();
    all_->barrier();  // now no rank knows of a step in flight
    disk->set_room(Trouble::Room::held_back);
    const double began_s = MPI_Wtime();
    const Ticket held = put_step(out, v, 1);
    EXPECT_LT(MPI_Wtime() - began_s, 4) << "the call waited for the plan";
    EXPECT_FALSE(held.durable());
    all_->barrier();
    disk->set_room(Trouble::Room::there);
    // What is defined meanwhile belongs to the next one, which is planned in the call.
    const Variable w = out.define<std::int32_t>("w", {1}, in_steps);
    const std::int32_t value = 7;
    Giver<double> giver;
    Step step = out.begin_step();
    giver.put(step, v, 2, shape, slab(shape, rank(), size()));
    if (rank() == 0) {
      step.put(w, &value);
    }
    step.end();
    held.wait();
    EXPECT_EQ(held.durable(), synced);
    out.close();
    expect_steps({0, 1, 2});
  }
}

TEST_F(Forward, AStepThatCannotBePlannedBehindTheCallIsHeardOfByAll) {
  const auto disk = std::make_shared<Trouble>(Trouble::Plan{});
  File out = open(Mode::write, disk);
  const Variable v = out.define<double>("v", shape, in_steps);
  put_step(out, v, 0).wait();
  all_->barrier();
  disk->set_room(Trouble::Room::lacking);
  const Ticket lost = put_step(out, v, 1);
  try {
    lost.wait();
    ADD_FAILURE() << "it is in the file";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::no_space) << e.what();
  }
  all_->barrier();
  disk->set_room(Trouble::Room::there);
  put_step(out, v, 2).wait();
  out.close();
  expect_steps({0, 2});
}

TEST_P(ForwardEncoded, AFailureOnTheWayIsHeardByAllAndTheNextStepGoesOn) {
  // The writer with the highest rank cannot write its second window.
  const bool is_last = rank() == size() - 1;
  const auto disk = std::make_shared<Trouble>(Trouble::Plan{is_last ? 2u : 0u, 0, 0});
  options_.writers = size();
  File out = open(Mode::write, disk);
  const Variable v = define(out);
  std::vector<std::uint64_t> there;
  std::string met;
  for (std::uint64_t key = 0; key < 5; ++key) {
    try {
      put_step(out, v, key).wait();
      there.push_back(key);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::io);
      EXPECT_TRUE(met.empty()) << met << "\n" << e.what();
      met = e.what();
    }
  }
  EXPECT_NE(met.find("rank " + std::to_string(size() - 1)), std::string::npos) << met;
  EXPECT_EQ(there.size(), 4u);
  out.close();
  expect_steps(there);
}

TEST_P(ForwardEncoded, WhoDoesNotAskHearsOfAFailureByTheNextCall) {
  const auto disk = std::make_shared<Trouble>(Trouble::Plan{rank() == 0 ? 1u : 0u, 0, 0});
  File out = open(Mode::write, disk);
  const Variable v = define(out);
  put_step(out, v, 0);
  EXPECT_THROW(out.close(), Error);
}

TEST_P(ForwardEncoded, ASmallBudgetHoldsBackAndLosesNothing) {
  options_.budget_bytes = 64 << 10;  // a step has 512,000 bytes
  File out = open(Mode::write);
  const Variable v = define(out);
  std::vector<std::uint64_t> keys;
  for (std::uint64_t s = 0; s < 8; ++s) {
    put_step(out, v, keys.emplace_back(s));
  }
  out.close();
  expect_steps(keys);
}

TEST_F(Forward, GatheredOrNotTheBytesAreTheSame) {
  // Columns, so that every tile is made of pieces of all ranks; npy, whose bytes hold no time.
  const auto write = [&](const std::string& strategy, bool gather, std::uint64_t gather_bytes) {
    options_.strategy = strategy;
    options_.coalesce = gather;
    options_.coalesce_bytes = gather_bytes;
    options_.writers = strategy == "serial" ? 0 : std::min(2, size());
    File out(
        detail::open_on(*all_, storage::make_posix(), folder_ + "/f.npy", Mode::write, options_));
    const Variable v = out.define<double>("v", shape, in_steps);
    for (std::uint64_t s = 0; s < 3; ++s) {
      Giver<double> giver;
      Step step = out.begin_step();
      const auto first = shape[1] * static_cast<std::uint64_t>(rank()) / size();
      const auto last = shape[1] * static_cast<std::uint64_t>(rank() + 1) / size();
      giver.put(step, v, s, shape, {{0, first}, {shape[0], last - first}});
      step.end();
    }
    out.close();
    std::ifstream file(folder_ + "/f.npy", std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    all_->barrier();
    return bytes;
  };
  const std::string serial = write("serial", true, 0);
  EXPECT_GT(serial.size(), 3 * shape[0] * shape[1] * sizeof(double));
  EXPECT_TRUE(write("forward", true, 0) == serial);
  EXPECT_TRUE(write("forward", true, 16384) == serial);
  EXPECT_TRUE(write("forward", false, 0) == serial);
}

TEST_P(ForwardEncoded, BetweenNodesItMovesOnByPolls) {
  connect(2, 60);
  options_.writers = std::min(2, size());
  File out = open(Mode::write);
  const Variable v = define(out);
  std::vector<std::uint64_t> keys;
  for (std::uint64_t s = 0; s < 4; ++s) {
    const Ticket ticket = put_step(out, v, keys.emplace_back(s));
    for (int tries = 0; tries < 5000 && !ticket.durable(); ++tries) {
      out.poll();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(ticket.durable());
  }
  out.close();
  expect_steps(keys);
}

TEST_P(ForwardEncoded, ALateRankHoldsNobodyForever) {
  File out = open(Mode::write);
  const Variable v = define(out);
  if (rank() == size() - 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
  }
  put_step(out, v, 0);
  put_step(out, v, 1);
  out.close();
  expect_steps({0, 1});
}

TEST_F(Forward, AWriterThatHangsIsNamed) {
  // Its thread is in a write that takes longer than any rank waits.
  connect(0, 1);
  const int hanging = size() - 1;
  options_.writers = size();
  const auto disk = std::make_shared<Trouble>(Trouble::Plan{0, rank() == hanging ? 1u : 0u, 4});
  {
    File out = open(Mode::write, disk);
    const Variable v = out.define<double>("v", shape, in_steps);
    const Ticket ticket = put_step(out, v, 0);
    try {
      ticket.wait();
      ADD_FAILURE() << "it was complete";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::timeout);
      EXPECT_NE(std::string(e.what()).find("writers on ranks " + std::to_string(hanging)),
                std::string::npos)
          << e.what();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(3500));
    ticket.wait();
    out.close();
  }
  connect(0, 60);
  expect_steps({0});
}

TEST_F(Forward, DrainWaitsAsLongAsItIsTold) {
  const auto disk = std::make_shared<Trouble>(Trouble::Plan{0, rank() == 0 ? 1u : 0u, 1.5});
  File out = open(Mode::write, disk);
  const Variable v = out.define<double>("v", shape, in_steps);
  put_step(out, v, 0);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(out.drain(0.2));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(1200));
  EXPECT_TRUE(out.drain(30));
  put_step(out, v, 1);
  EXPECT_TRUE(out.drain(30));
  out.close();
  expect_steps({0, 1});
}

/// An exception of a simulation, unknown to the library.
struct Diverged : std::runtime_error {
  Diverged() : std::runtime_error("the simulation diverged") {}
};

TEST_P(ForwardEncoded, StepsThatEndedAreThereWhereARankThrows) {
  for (const int ranks_per_node : {0, 2}) {
    for (const bool all_throw : {true, false}) {
      connect(ranks_per_node, 60);
      // Slow, so that all of them are in flight when the exception is thrown.
      const auto disk = std::make_shared<Trouble>(Trouble::Plan{0, rank() == 0 ? 1u : 0u, 0.3});
      std::string met;
      std::vector<Ticket> tickets;
      try {
        File out = open(Mode::write, disk);
        const Variable v = define(out);
        for (std::uint64_t s = 0; s < 3; ++s) {
          tickets.push_back(put_step(out, v, s));
        }
        if (all_throw || rank() == size() - 1) {
          throw Diverged();
        }
        put_step(out, v, 3);
      } catch (const Error& e) {
        met = e.what();
      } catch (const Diverged&) {
        met = "own";
      }
      const bool threw = all_throw || rank() == size() - 1;
      EXPECT_TRUE(threw ? met == "own" : met.find("abandoned") != std::string::npos) << met;
      for (const Ticket& ticket : tickets) {
        EXPECT_TRUE(ticket.durable());
      }
      connect(ranks_per_node, 60);  // no collective of the other one, which a rank has left
      expect_steps({0, 1, 2});
    }
  }
}

TEST_F(Forward, UnwindingWaitsForAWriterThatHangsAsLongAsItIsTold) {
  connect(0, 1);
  const int hanging = size() - 1;
  options_.writers = size();
  const auto disk = std::make_shared<Trouble>(Trouble::Plan{0, rank() == hanging ? 1u : 0u, 4});
  const auto began = std::chrono::steady_clock::now();
  try {
    File out = open(Mode::write, disk);
    put_step(out, out.define<double>("v", shape, in_steps), 0);
    throw Diverged();
  } catch (const Diverged&) {
    if (rank() != hanging) {
      EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(3000));
    }
  }
  connect(0, 60);
}

TEST_F(Forward, AStepOfPartsIsInThemBeforeItIsToldOf) {
  const auto disk = std::make_shared<Trouble>(Trouble::Plan{0, rank() == 0 ? 3u : 0u, 0.5});
  options_.split_steps = 2;
  File out = open(Mode::write, disk);
  const Variable v = out.define<double>("v", shape, in_steps);
  for (std::uint64_t s = 0; s < 3; ++s) {
    const Ticket ticket = put_step(out, v, s);
    ticket.wait();
    EXPECT_TRUE(ticket.durable());
    std::vector<std::uint64_t> keys(s + 1);
    std::iota(keys.begin(), keys.end(), 0);
    expect_steps(keys);
  }
  out.close();
}

TEST_F(Forward, MpiioIsRefusedInWords) {
  try {
    Options options = options_;
    options.storage = "mpiio";
    File out(MPI_COMM_WORLD, path(), Mode::write, options);
    ADD_FAILURE() << "it was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::unsupported);
    EXPECT_NE(std::string(e.what()).find("mpiio"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace sluice::test
