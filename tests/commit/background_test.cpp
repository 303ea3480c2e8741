// Strategy forward with real threads, on one rank without MPI: the writer's, the one that commits,
// and those that encode.
#include <atomic>

#include "exec/solo_transport.hpp"
#include "layout/local_files.hpp"
#include "storage/forwarding.hpp"
#include "storage/scratch.hpp"
#include "support/forwarding_storage.hpp"

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
  /// Steps with two variables, their values by step; the caller's memory changes at once.
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

TEST_F(Background, ASmallBudgetHoldsBack) {
  options_.budget_bytes = 256 << 10;
  File out = open(Mode::write);
  write(out, 5, false);
  out.close();
  expect_steps(5);
}

TEST_F(Background, PiecesAreWrittenAsTheyCome) {
  options_.gather = false;
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

/// A disk whose file refuses one of its writes.
class Refusing final : public ForwardingStorage {
 public:
  explicit Refusing(int at) : ForwardingStorage(storage::make_posix()), left_(at) {}
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
  return std::make_unique<RefusingFile>(disk().open(path, access), *this);
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
  for (int i = 0; i < 3; ++i) {
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
