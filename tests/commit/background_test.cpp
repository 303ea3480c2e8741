// Commits with real threads, on one rank without MPI: the writer thread, the committing thread and
// the encoding threads of strategy forward, and the thread that puts durable steps in place.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "codec/filter.hpp"
#include "exec/transport/solo_transport.hpp"
#include "layout/local_files.hpp"
#include "storage/forwarding.hpp"
#include "storage/scratch.hpp"
#include "support/observing_storage.hpp"

namespace sluice::test {
namespace {

constexpr std::uint64_t elements = 300000;

class Background : public testing::Test {
 protected:
  Background() {
    options_.strategy = "forward";
    options_.log = Log::off;
    options_.tile_bytes = 64 << 10;
  }
  File open(Mode mode, const std::shared_ptr<storage::Storage>& disk = storage::make_posix()) {
    return File(detail::open_on(*alone_, disk, folder_ / "f.h5", mode, options_));
  }
  /// Steps with two variables, their values by step; the caller's memory changes immediately.
  std::vector<Ticket> write(File& out, std::uint64_t steps, bool looks) {
    const auto v = out.define<double>("v", {elements}, {.steps = true});
    const auto w = out.define<std::int32_t>("w", {elements / 3}, {.steps = true});
    std::vector<double> data(elements);
    std::vector<std::int32_t> other(elements / 3);
    std::vector<Ticket> tickets;
    for (std::uint64_t s = 0; s < steps; ++s) {
      std::fill(data.begin(), data.end(), static_cast<double>(s) + 0.5);
      std::fill(other.begin(), other.end(), static_cast<std::int32_t>(s));
      Step step = out.begin_step();
      step.put(v, data.data());
      step.put(w, other.data());
      tickets.push_back(step.end());
      if (looks) {
        tickets.front().durable();
        out.poll();
      }
    }
    return tickets;
  }
  void expect_steps(std::uint64_t steps) {
    File in = open(Mode::read);
    ASSERT_EQ(in.steps(), steps);
    std::vector<double> data(elements);
    std::vector<std::int32_t> other(elements / 3);
    for (std::uint64_t s = 0; s < steps; ++s) {
      in.get(in.find("v"), data.data(), {}, s);
      in.get(in.find("w"), other.data(), {}, s);
      ASSERT_EQ(std::count(data.begin(), data.end(), static_cast<double>(s) + 0.5),
                static_cast<std::ptrdiff_t>(elements));
      ASSERT_EQ(std::count(other.begin(), other.end(), static_cast<std::int32_t>(s)),
                static_cast<std::ptrdiff_t>(elements / 3));
    }
  }

  const storage::Scratch folder_;
  const std::unique_ptr<exec::Transport> alone_ = exec::make_solo();
  Options options_;
};

TEST_F(Background, StepsGoOnWhileTheCallerDoes) {
  for (const auto& disk : {storage::make_posix(), storage::make_direct()}) {
    File out = open(Mode::write, disk);
    const auto tickets = write(out, 6, true);
    tickets[3].wait();
    EXPECT_TRUE(tickets[2].durable());
    out.close();
    EXPECT_TRUE(tickets[5].durable());
    expect_steps(6);
  }
}

TEST_F(Background, DurableStepsArePutInPlaceBesideTheRun) {
  options_.strategy = "shared";
  options_.durability = Durability::step;
  options_.apply_every_s = 0.002;
  for (int run = 0; run < 3; ++run) {
    File out = open(Mode::write);
    const auto v = out.define<double>("v", {64}, {.steps = true});
    std::vector<double> data(64);
    for (std::uint64_t s = 0; s < 30; ++s) {
      std::fill(data.begin(), data.end(), static_cast<double>(s));
      Step step = out.begin_step();
      step.put(v, data.data());
      step.end();
      if (s % 7 == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(3));  // it is put in place
      }
      if (s % 10 == 9) {
        File in = open(Mode::read);
        ASSERT_EQ(in.steps(), s + 1);
        in.get(in.find("v"), data.data(), {}, s);
        ASSERT_EQ(data[63], static_cast<double>(s));
      }
    }
    if (run != 0) {
      out.close();
    }
  }
}

TEST_F(Background, ASmallBudgetHoldsBack) {
  options_.budget_bytes = 256 << 10;
  File out = open(Mode::write);
  write(out, 5, false);
  out.close();
  expect_steps(5);
}

TEST_F(Background, PiecesAreWrittenAsTheyCome) {
  options_.coalesce = false;
  File out = open(Mode::write);
  write(out, 4, true);
  out.close();
  expect_steps(4);
}

TEST_F(Background, CompressedStepsToo) {
  options_.compress = "deflate:1";
  File out = open(Mode::write);
  write(out, 3, true);
  out.close();
  expect_steps(3);
}

/// Bytes that repeat their first eight become these.
std::size_t encode_repetition(std::span<const std::byte> in, std::span<std::byte> out) {
  const std::size_t unit = sizeof(double);
  const bool repeats = in.size() > unit && std::equal(in.begin() + unit, in.end(), in.begin());
  if (repeats) {
    std::copy_n(in.begin(), unit, out.begin());
  }
  return repeats ? unit : 0;
}

bool decode_repetition(std::span<const std::byte> in, std::span<std::byte> out) {
  for (std::size_t i = 0; i < out.size() && in.size() == sizeof(double); ++i) {
    out[i] = in[i % in.size()];
  }
  return in.size() == sizeof(double);
}

/// A gate at which encoders wait.
class Gate {
 public:
  static Gate& of_codec() {
    static Gate gate;
    return gate;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    is_open_ = false;
    threads_.clear();
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    changed_.notify_all();
    changed_.wait(lock, [&] { return is_open_; });
  }
  /// Returns when a thread waits there.
  void wait_for_somebody() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !threads_.empty(); });
  }
  std::set<std::thread::id> threads() {
    const std::lock_guard lock(mutex_);
    return threads_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
  std::set<std::thread::id> threads_;
};

class Gated final : public codec::Worker {
 public:
  std::size_t encode(const codec::Parameters&, std::span<const std::byte> in,
                     std::span<std::byte> out) override {
    Gate::of_codec().pass();
    return encode_repetition(in, out);
  }
  bool decode(const codec::Parameters&, std::span<const std::byte> in,
              std::span<std::byte> out) override {
    return decode_repetition(in, out);
  }
};

class Encoded : public Background {
 protected:
  Encoded() {
    codec::add_method({"gated", 65001, true, 0, 1, 1, 1, [] { return std::make_unique<Gated>(); }});
    options_.compress = "gated+noshuffle";
  }
};

TEST_F(Encoded, ACallReturnsWhileTheEncoderStands) {
  for (const char* format : {"hdf5", "netcdf4"}) {
    Gate::of_codec().close();
    options_.format = format;
    File out = open(Mode::write);
    const auto tickets = write(out, 2, true);  // returns only if no call encodes
    Gate::of_codec().wait_for_somebody();
    out.set_attribute("", "note", std::string("said while nothing is planned yet"));
    const auto late = out.define<std::int32_t>("late", {40});
    EXPECT_FALSE(tickets[0].durable());
    EXPECT_FALSE(out.drain(0.01));
    EXPECT_FALSE(Gate::of_codec().threads().contains(std::this_thread::get_id()));
    Gate::of_codec().open();
    tickets[1].wait();
    const std::vector<std::int32_t> numbers(40, 7);
    out.put(late, numbers.data());
    out.close();
    EXPECT_FALSE(Gate::of_codec().threads().contains(std::this_thread::get_id()));
    File in = open(Mode::read);
    std::vector<std::int32_t> read(40);
    in.get(in.find("late"), read.data());
    EXPECT_EQ(read, numbers);
    expect_steps(2);
  }
}

TEST_F(Encoded, TheBudgetBoundsWhatWaitsForTheEncoder) {
  constexpr std::uint64_t steps = 20;
  constexpr std::uint64_t step_bytes = elements * sizeof(double) + elements / 3 * 4;
  options_.budget_bytes = 8 << 20;
  Gate::of_codec().close();
  std::atomic<std::uint64_t> ended = 0;
  std::thread caller([&] {
    File out = open(Mode::write);
    const auto v = out.define<double>("v", {elements}, {.steps = true});
    const auto w = out.define<std::int32_t>("w", {elements / 3}, {.steps = true});
    for (std::uint64_t s = 0; s < steps; ++s) {
      const std::vector<double> data(elements, static_cast<double>(s) + 0.5);
      const std::vector<std::int32_t> other(elements / 3, static_cast<std::int32_t>(s));
      Step step = out.begin_step();
      step.put(v, data.data());
      step.put(w, other.data());
      step.end();
      ++ended;
    }
    out.close();
  });
  Gate::of_codec().wait_for_somebody();
  std::uint64_t before = steps + 1;
  while (before != ended) {  // until it waits
    before = ended;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_LE(ended * step_bytes, options_.budget_bytes);
  EXPECT_LT(ended, steps);
  Gate::of_codec().open();
  caller.join();
  expect_steps(steps);
}

/// Fails at the third tile.
class Failing final : public codec::Worker {
 public:
  static std::atomic<int>& tiles() {
    static std::atomic<int> count = 0;
    return count;
  }
  std::size_t encode(const codec::Parameters&, std::span<const std::byte> in,
                     std::span<std::byte> out) override {
    if (++tiles() == 3) {
      throw Error(Code::io, "the encoder broke");
    }
    return encode_repetition(in, out);
  }
  bool decode(const codec::Parameters&, std::span<const std::byte> in,
              std::span<std::byte> out) override {
    return decode_repetition(in, out);
  }
};

TEST_F(Encoded, AnEncoderThatFailsFailsItsStepAndTheNextOneWorks) {
  codec::add_method(
      {"failing", 65002, true, 0, 1, 1, 1, [] { return std::make_unique<Failing>(); }});
  options_.compress = "failing+noshuffle";
  Failing::tiles() = 0;
  File out = open(Mode::write);
  const auto v = out.define<double>("v", {10000}, {.steps = true, .chunk = {10000}});
  std::vector<double> there;
  for (int s = 0; s < 5; ++s) {
    const std::vector<double> data(10000, s);
    try {
      Step step = out.begin_step();
      step.put(v, data.data());
      step.end().wait();
      there.push_back(s);
    } catch (const Error& e) {
      EXPECT_EQ(s, 2);
      EXPECT_NE(std::string(e.what()).find("the encoder broke"), std::string::npos) << e.what();
    }
  }
  out.close();
  File in = open(Mode::read);
  ASSERT_EQ(in.steps(), there.size());
  for (std::size_t s = 0; s < there.size(); ++s) {
    std::vector<double> data(10000);
    in.get(in.find("v"), data.data(), {}, s);
    EXPECT_EQ(data, std::vector<double>(10000, there[s]));
  }
}

TEST_F(Encoded, WhatIsNotEncodedGoesToItsPlacesToo) {
  for (const char* format : {"hdf5", "netcdf4"}) {
    options_.format = format;
    options_.compress = "deflate:1";
    File out = open(Mode::write);
    const auto v = out.define<double>("v", {elements}, {.steps = true});
    const auto plain = out.define<double>("plain", {elements}, {.steps = true, .compress = "none"});
    VariableOptions filled{.steps = true, .partial = true, .compress = "none"};
    filled.fill = -1;
    const auto holes = out.define<std::int32_t>("holes", {2000}, filled);
    const auto rows = out.define<float>(
        "rows", {1000}, {.steps = true, .chunk = {64}, .varying = true, .compress = "none"});
    const auto fixed = out.define<std::int64_t>("fixed", {100}, {.compress = "none"});
    const std::vector<std::int64_t> once(100, 5);
    out.put(fixed, once.data());
    for (std::uint64_t s = 0; s < 4; ++s) {
      const std::vector<double> data(elements, static_cast<double>(s));
      const std::vector<std::int32_t> few(10, static_cast<std::int32_t>(s));
      const std::vector<float> some(100 * s, 0.5F);
      Step step = out.begin_step();
      step.resize(rows, 100 * s);
      step.put(v, data.data());
      step.put(plain, data.data());
      step.put(holes, few.data(), {.start = {100 * s}, .count = {10}});
      step.put(rows, some.data(), {.start = {0}, .count = {100 * s}});
      step.end();
    }
    out.close();
    File in = open(Mode::read);
    ASSERT_EQ(in.steps(), 4u);
    std::vector<double> data(elements);
    std::vector<std::int32_t> hole(2000);
    for (std::uint64_t s = 0; s < 4; ++s) {
      const std::vector<double> expected(elements, static_cast<double>(s));
      in.get(in.find("plain"), data.data(), {}, s);
      EXPECT_EQ(data, expected);
      in.get(in.find("v"), data.data(), {}, s);
      EXPECT_EQ(data, expected);
      in.get(in.find("holes"), hole.data(), {}, s);
      EXPECT_EQ(std::count(hole.begin(), hole.end(), -1), 1990);
      EXPECT_EQ(hole[100 * s + 9], static_cast<std::int32_t>(s));
      std::vector<float> some(100 * s);
      in.get(in.find("rows"), some.data(), {.start = {0}, .count = {100 * s}}, s);
      EXPECT_EQ(some, std::vector<float>(100 * s, 0.5F));
    }
    std::vector<std::int64_t> read(100);
    in.get(in.find("fixed"), read.data());
    EXPECT_EQ(read, once);
  }
}

/// A disk whose file fails one of its writes.
class Refusing final : public storage::ObservingStorage {
 public:
  explicit Refusing(int at) : ObservingStorage(storage::make_posix()), left_(at) {}
  std::unique_ptr<storage::File> open(const std::string& path, storage::Access access) override;

  void count() {
    if (--left_ == 0) {
      throw Error(Code::io, "write failed: Input/output error");
    }
  }

 private:
  std::atomic<int> left_;
};

class RefusingFile final : public storage::ForwardingFile {
 public:
  RefusingFile(std::unique_ptr<storage::File> file, Refusing& owner)
      : ForwardingFile(std::move(file)), owner_(owner) {}
  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    if (bytes.size() >= 16384) {
      owner_.count();  // data, no metadata
    }
    inner().write(offset, bytes);
  }

 private:
  Refusing& owner_;
};

std::unique_ptr<storage::File> Refusing::open(const std::string& path, storage::Access access) {
  return std::make_unique<RefusingFile>(inner().open(path, access), *this);
}

TEST_F(Background, AFailureOnTheWayLeavesTheStepsBefore) {
  const auto disk = std::make_shared<Refusing>(4);
  File out = open(Mode::write, disk);
  bool has_failed = false;
  try {
    for (const Ticket& ticket : write(out, 4, false)) {
      ticket.wait();
    }
    out.close();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::io) << e.what();
    has_failed = true;
  }
  EXPECT_TRUE(has_failed);
}

TEST_F(Background, AFileThatIsDroppedEndsItsThreads) {
  for (const char* compress : {"", "", "deflate:1", "deflate:1"}) {
    options_.compress = compress;
    try {
      File out = open(Mode::write);
      write(out, 2, false);
      throw std::runtime_error("the simulation fails");
    } catch (const std::runtime_error&) {
    }
  }
}

}  // namespace
}  // namespace sluice::test
