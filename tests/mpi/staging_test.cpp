// Staging on real ranks: files that follow each other use the same memory, also with other numbers
// of writers and sizes; it is given back after a while, and killed ranks leave nothing.
#include "exec/write/staging.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <dirent.h>
#include <fstream>
#include <gtest/gtest.h>
#include <mpi.h>
#include <numeric>
#include <thread>
#include <unistd.h>

#include "api/file/file_impl.hpp"
#include "exec/transport/mpi_transport.hpp"
#include "storage/scratch.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

constexpr double long_s = 1000;

/// Of this process, that it has touched.
std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// Of memory that has a name like staging: descriptors of this process.
int shared_descriptors() {
  int count = 0;
  DIR* const folder = ::opendir("/proc/self/fd");
  for (const dirent* entry = ::readdir(folder); entry != nullptr; entry = ::readdir(folder)) {
    char target[64] = {};
    const std::string link = std::string("/proc/self/fd/") + entry->d_name;
    if (::readlink(link.c_str(), target, sizeof target - 1) > 0) {
      count += std::string(target).rfind("/memfd:sluice-staging", 0) == 0 ? 1 : 0;
    }
  }
  ::closedir(folder);
  return count;
}

/// Lets MPI work for a while on what is under way.
void let_messages_come() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::chrono::steady_clock::now() < end) {
    int is_there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
  }
}

class StagingOfRanks : public testing::Test {
 protected:
  StagingOfRanks() {
    std::vector<std::byte> name;
    if (all_->rank() == 0) {
      scratch_ = std::make_unique<storage::Scratch>();
      name = storage::bytes_of(scratch_->folder());
    }
    all_->broadcast(name, 0);
    folder_ = storage::text_of(name);
    options_.log = Log::off;
    options_.durability = Durability::none;
    options_.staging_idle_s = long_s;
  }
  ~StagingOfRanks() override { all_->barrier(); }

  /// Writes a file of `steps` steps and reads it back.
  void write_and_read(const std::string& name, std::uint64_t steps, const Shape& shape) {
    const std::string path = folder_ + "/" + name;
    const model::Box mine = slab(shape, all_->rank(), all_->size());
    {
      File out(detail::open_on(*all_, storage::make_posix(), path, Mode::write, options_));
      const Variable v = out.define<double>("v", shape, {.steps = true});
      for (std::uint64_t s = 0; s < steps; ++s) {
        Giver<double> giver;
        Step step = out.begin_step();
        giver.put(step, v, s, shape, mine);
        step.end();
      }
      out.close();
    }
    all_->barrier();
    File in(detail::open_on(*all_, storage::make_posix(), path, Mode::read, options_));
    ASSERT_EQ(in.steps(), steps);
    for (std::uint64_t s = 0; s < steps; ++s) {
      expect_values<double>(in, "v", s, shape, mine, s);
    }
  }
  static std::uint64_t idle() { return exec::StagingPool::of_process().idle_bytes(); }

  const std::unique_ptr<exec::Transport> all_ = exec::make_mpi(MPI_COMM_WORLD, 60);
  std::unique_ptr<storage::Scratch> scratch_;
  std::string folder_;
  Options options_;
};

const Shape large = {64, 64000};  // 32 MB

TEST_F(StagingOfRanks, FilesThatFollowUseTheSameMemory) {
  for (const char* strategy : {"forward", "collective", "shared"}) {
    options_.strategy = strategy;
    write_and_read("first", 2, large);
    const std::uint64_t kept = idle();
    const int descriptors = shared_descriptors();
    for (int file = 0; file < 2; ++file) {
      write_and_read("again" + std::to_string(file), 1, large);
      EXPECT_EQ(idle(), kept) << strategy;
      EXPECT_EQ(shared_descriptors(), descriptors) << strategy;
    }
  }
  if (exec::PooledMemory::all_bytes() != idle()) {
    ADD_FAILURE() << "no file is open: all staging is idle";
  }
}

TEST_F(StagingOfRanks, RingsOfEveryShapeShareIt) {
  options_.strategy = "forward";
  options_.tile_bytes = 64 << 10;
  write_and_read("largest", 2, large);
  for (const int writers : {4, 1, 3}) {
    for (const Shape& shape : {Shape{64, 333}, large, Shape{61, 6007}}) {
      options_.writers = writers;
      write_and_read("f", 2, shape);
    }
  }
  options_.coalesce = false;
  write_and_read("pieces", 3, Shape{61, 6007});
}

// All ranks have the memory of the closed file idle, and each half of them opens a file of its own,
// beside files of all.
TEST_F(StagingOfRanks, FilesOfOtherCommunicatorsThatAreOpenHaveOthers) {
  options_.strategy = "forward";
  const Shape shape = {64, 333};
  write_and_read("before", 1, shape);
  MPI_Comm comm = MPI_COMM_NULL;
  const int half = all_->rank() / 2;
  MPI_Comm_split(MPI_COMM_WORLD, half, all_->rank(), &comm);
  const auto ranks = exec::make_mpi(comm, 60);
  const std::string path = folder_ + "/half" + std::to_string(half);
  const model::Box mine = slab(shape, ranks->rank(), ranks->size());
  constexpr std::uint64_t steps = 20;
  const std::uint64_t first_key = half == 0 ? 0 : 100;
  {
    File out(detail::open_on(*ranks, storage::make_posix(), path, Mode::write, options_));
    const Variable v = out.define<double>("v", shape, {.steps = true});
    for (std::uint64_t s = 0; s < steps; ++s) {
      write_and_read("beside", 1, shape);
      Giver<double> giver;
      Step step = out.begin_step();
      giver.put(step, v, s + first_key, shape, mine);
      step.end();
    }
    out.close();
  }
  ranks->barrier();
  {
    File in(detail::open_on(*ranks, storage::make_posix(), path, Mode::read, options_));
    ASSERT_EQ(in.steps(), steps);
    for (std::uint64_t s = 0; s < steps; ++s) {
      expect_values<double>(in, "v", s + first_key, shape, mine, s);
    }
  }
  MPI_Comm_free(&comm);
}

TEST_F(StagingOfRanks, IsGivenBackAfterAWhile) {
  exec::StagingPool::of_process().make_room(exec::PooledMemory::all_bytes(), 0);
  all_->barrier();
  options_.strategy = "forward";
  options_.staging_idle_s = 0.2;
  const std::uint64_t before = resident_bytes();
  write_and_read("f", 2, large);
  // Not idle_bytes(): what left the pool is unmapped only after that.
  for (int i = 0; i < 1000 && exec::PooledMemory::all_bytes() != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(exec::PooledMemory::all_bytes(), 0u);
  EXPECT_EQ(shared_descriptors(), 0);
  EXPECT_LT(resident_bytes(), before + (16 << 20));
  all_->barrier();
  write_and_read("g", 1, large);
  // One rank gave it back, and the others did not.
  options_.staging_idle_s = long_s;
  write_and_read("h", 1, large);
  if (all_->rank() == 1) {
    exec::StagingPool::of_process().make_room(exec::PooledMemory::all_bytes(), 0);
  }
  write_and_read("i", 2, large);
  if (all_->rank() == 0) {
    exec::StagingPool::of_process().make_room(exec::PooledMemory::all_bytes(), 0);
  }
  write_and_read("j", 2, large);
}

TEST_F(StagingOfRanks, TwoOpenFilesShareTheBudget) {
  exec::StagingPool::of_process().make_room(exec::PooledMemory::all_bytes(), 0);
  all_->barrier();
  options_.strategy = "forward";
  options_.budget_bytes = 16 << 20;
  const model::Box mine = slab(large, all_->rank(), all_->size());
  const auto open = [&](const std::string& name) {
    return File(
        detail::open_on(*all_, storage::make_posix(), folder_ + "/" + name, Mode::write, options_));
  };
  {
    File out[] = {open("a"), open("b"), open("c")};
    Giver<double> giver;
    std::vector<Variable> vs;
    for (File& file : out) {
      vs.push_back(file.define<double>("v", large, {.steps = true}));
    }
    for (std::uint64_t s = 0; s < 3; ++s) {
      for (std::size_t f = 0; f < 3; ++f) {
        Step step = out[f].begin_step();
        giver.put(step, vs[f], s, large, mine);
        step.end();
      }
      // The least of a file are three windows of at most an eighth of a step and a writer.
      EXPECT_LE(exec::PooledMemory::all_bytes(), options_.budget_bytes + 2 * 3 * (1 << 20));
    }
    for (File& file : out) {
      file.close();
    }
  }
  all_->barrier();
  for (const char* name : {"a", "b", "c"}) {
    File in(
        detail::open_on(*all_, storage::make_posix(), folder_ + "/" + name, Mode::read, options_));
    ASSERT_EQ(in.steps(), 3u);
    expect_values<double>(in, "v", 2, large, mine, 2);
  }
}

// The sender stands still in the middle of a message, its receiver gives up, and the message comes
// when the memory has another user.
TEST_F(StagingOfRanks, WhatAMessageThatWasGivenUpMayUseIsNotUsedAgain) {
  constexpr std::size_t bytes = 32 << 20;
  constexpr int tag = 1;
  constexpr double slow_s = 0.3;
  exec::MpiOptions options;
  options.timeout_s = slow_s;
  options.grace_s = slow_s;
  auto ranks = exec::make_mpi(MPI_COMM_WORLD, options);
  exec::StagingPool& pool = exec::StagingPool::of_process();
  MPI_Barrier(MPI_COMM_WORLD);
  if (all_->rank() == 0) {
    auto first = pool.take_staging(bytes, bytes, true);
    const std::byte* const former = first->data();
    EXPECT_THROW(
        {
          const std::span<std::byte> into(first->data(), bytes);
          ranks->start_receive(1, tag, into)->wait();
        },
        Error);
    pool.give_back(std::move(first), long_s);
    auto next = pool.take_staging(bytes, bytes, true);
    EXPECT_NE(next->data(), former);
    std::memset(next->data(), 1, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    let_messages_come();
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(std::count(next->data(), next->data() + bytes, std::byte{1}), bytes);
    const std::byte* const kept = next->data();
    pool.give_back(std::move(next), long_s);
    next = pool.take_staging(bytes, bytes, true);
    EXPECT_EQ(next->data(), kept) << "no message was given up since";
  } else if (all_->rank() == 1) {
    std::vector<std::byte> sevens(bytes, std::byte{7});
    auto message = ranks->start_send(0, tag, sevens);
    std::this_thread::sleep_for(std::chrono::duration<double>(10 * slow_s));
    MPI_Barrier(MPI_COMM_WORLD);
    let_messages_come();
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// What has no name goes with the last process that has it, however that ends.
TEST_F(StagingOfRanks, SharedMemoryHasNoName) {
  options_.strategy = "forward";
  write_and_read("f", 1, large);
  std::ifstream maps("/proc/self/maps");
  int shared = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("sluice-staging") != std::string::npos) {
      EXPECT_NE(line.find("/memfd:sluice-staging (deleted)"), std::string::npos) << line;
      ++shared;
    }
  }
  EXPECT_GE(shared, 1);
}

}  // namespace
}  // namespace sluice::test
