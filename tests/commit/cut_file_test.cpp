// What makes a file shorter, or seem shorter, without another program: no step fails for it. One
// that another program cuts while a step is written fails that; between two: removed_file_test.cpp.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "api/file/file_impl.hpp"
#include "storage/posix_calls.hpp"
#include "storage/scratch.hpp"
#include "support/faulty_storage.hpp"
#include "support/local_transport.hpp"
#include "support/values.hpp"

namespace {

/// What a client of a network file system tells of the sizes of files of HDF5.
struct Client {
  enum class Size { true_one, old_one, none };
  std::atomic<Size> size = Size::true_one;
  std::atomic<int> looks = 0;   ///< at such a file,
  std::atomic<int> forced = 0;  ///< of which the server was asked
} client;

}  // namespace

/// In the place of that of the C library.
extern "C" int statx(int folder, const char* path, int flags, unsigned mask,
                     struct statx* into) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_statx, folder, path, flags, mask, into));
  if (result != 0 || !std::string_view(path).ends_with(".h5")) {
    return result;
  }
  ++client.looks;
  if ((flags & AT_STATX_FORCE_SYNC) != 0) {
    ++client.forced;
  } else if (client.size != Client::Size::true_one) {
    into->stx_size = 0;
    if (client.size == Client::Size::none) {
      into->stx_mask &= ~STATX_SIZE;
    }
  }
  return result;
}

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using storage::Call;
using storage::error_of;

constexpr int ranks = 2;
const Shape shape{40, 30};    // more than a page
const Shape holes{1u << 20};  // of which a step writes a few

class CutFile : public testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return scratch_ / "run.h5"; }

  static Options options(std::int64_t restart_after = -1) {
    Options options;
    options.strategy = GetParam();
    options.log = Log::off;
    options.durability = Durability::step;
    options.restart_after = restart_after;
    return options;
  }

  static void put_step(File& out, int rank) { put_step(out, rank, out.steps()); }
  static void put_step(File& out, int rank, std::uint64_t s) {
    const Variable v = out.define<double>("v", shape, {.steps = true});
    const Variable w = out.define<float>("w", holes, {.steps = true, .partial = true, .fill = -1});
    Giver<double> giver;
    Giver<float> few;
    Step step = out.begin_step();
    giver.put(step, v, s, shape, slab(shape, rank, ranks));
    few.put(step, w, s, holes, {{s + 8 * static_cast<std::uint64_t>(rank)}, {1}});
    step.end();
  }

  /// Writes `more` steps.
  void write(Mode mode, std::uint64_t more, std::int64_t restart_after = -1) {
    exec::run_local(ranks, 1, [&](exec::Transport& transport) {
      File out(detail::open_on(transport, storage_, path(), mode, options(restart_after)));
      for (std::uint64_t i = 0; i < more; ++i) {
        put_step(out, transport.rank());
      }
      out.close();
    });
  }

  void expect_steps(std::uint64_t count) {
    exec::run_local(1, 1, [&](exec::Transport& transport) {
      File in(detail::open_on(transport, storage_, path(), Mode::read, {}));
      ASSERT_EQ(in.steps(), count);
      for (std::uint64_t s = 0; s < count; ++s) {
        expect_values<double>(in, "v", s, shape, whole_box(shape), s);
      }
    });
  }

  // Where a sync takes no time.
  storage::Scratch scratch_{fs::exists("/dev/shm") ? "/dev/shm"
                                                   : fs::temp_directory_path().string()};
  std::shared_ptr<storage::Storage> storage_ = storage::make("posix");
};

TEST_P(CutFile, TheServerIsAskedOnlyWhereTheClientKnowsASmallerSize) {
  for (const auto size : {Client::Size::true_one, Client::Size::none, Client::Size::old_one}) {
    client.size = size;
    client.looks = client.forced = 0;
    write(Mode::write, 4);
    expect_steps(4);
    client.size = Client::Size::true_one;
    EXPECT_GE(client.looks, 3) << "this program's statx is not the one that is called";
    EXPECT_EQ(client.forced > 0, size == Client::Size::old_one);
  }
}

// Those of the step that could not be written are cut off, at once or when the file is reopened.
TEST_P(CutFile, AFailedStepIsNotTakenForACut) {
  const auto attempt = [&](const std::shared_ptr<storage::Faults>& faults) {
    fs::remove(path());
    fs::remove(path() + ".sluice-journal");
    exec::run_local(ranks, 1, [&](exec::Transport& transport) {
      const auto faulty = std::make_shared<storage::FaultyStorage>(storage_, faults);
      bool is_closed = false;
      for (int tries = 0; tries < 4 && !is_closed; ++tries) {
        transport.barrier();
        const Mode mode = fs::exists(path()) ? Mode::append : Mode::write;
        transport.barrier();
        const Error error = error_of([&] {
          File out(detail::open_on(transport, faulty, path(), mode, options()));
          for (int puts = 0; puts < 6 && out.steps() < 3; ++puts) {
            const Error of_step = error_of([&] { put_step(out, transport.rank()); });
            EXPECT_NE(of_step.code(), Code::changed_outside) << of_step.what();
          }
          out.close();
          is_closed = true;
        });
        EXPECT_NE(error.code(), Code::changed_outside) << error.what();
      }
      EXPECT_TRUE(is_closed);
    });
    expect_steps(3);
  };
  const auto clean = std::make_shared<storage::Faults>();
  attempt(clean);
  for (const Call call : {Call::write, Call::sync, Call::preallocate, Call::resize}) {
    for (std::uint64_t nth = 1; nth <= clean->calls(call); ++nth) {
      const auto faults = std::make_shared<storage::Faults>();
      storage::Rule rule;
      rule.call = call;
      rule.nth = nth;
      rule.error_number = nth % 2 == 0 ? EIO : ENOSPC;
      rule.landed_bytes = nth % 3 == 0 ? 5 : 0;
      faults->add(rule);
      SCOPED_TRACE(std::string(storage::call_name(call)) + " number " + std::to_string(nth));
      attempt(faults);
      ASSERT_FALSE(testing::Test::HasFailure()) << "with this call failing";
    }
  }
}

/// Of the next write of data.
enum class Fate { none, refused, cut };
std::atomic<Fate> fate = Fate::none;

ssize_t write_by_fate(int fd, const void* from, std::size_t bytes, off_t offset) {
  constexpr std::size_t of_data = 4000;
  const Fate mine = bytes >= of_data ? fate.exchange(Fate::none) : Fate::none;
  if (mine == Fate::refused) {
    errno = ENOSPC;
    return -1;
  }
  if (mine == Fate::cut) {
    EXPECT_EQ(::ftruncate(fd, 0), 0);
  }
  return ::pwrite(fd, from, bytes, offset);
}

std::shared_ptr<storage::Storage> by_fate() {
  storage::SystemCalls calls = storage::real_system_calls();
  calls.pwrite = write_by_fate;
  return storage::make_posix(calls);
}

// Those are put in place by a thread, also while the file is cut for a step that failed.
TEST_P(CutFile, AFailedStepAfterCommitsThatWaitIsNotTakenForACut) {
  constexpr int tries = 24;
  storage_ = by_fate();
  std::uint64_t steps = 0;
  exec::run_local(ranks, 1, [&](exec::Transport& transport) {
    Options every = options();
    every.apply_every_s = 0.01;
    File out(detail::open_on(transport, storage_, path(), Mode::write, every));
    std::uint64_t done = 0;
    for (int i = 0; i < tries; ++i) {
      transport.barrier();
      fate = i % 4 == 3 && i < tries - 1 ? Fate::refused : Fate::none;
      transport.barrier();
      const Error error = error_of([&] {
        put_step(out, transport.rank(), done);
        out.drain(60);
      });
      EXPECT_TRUE(error.code() == Code::ok || error.code() == Code::no_space) << error.what();
      done += error.code() == Code::ok ? 1 : 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    out.close();
    if (transport.rank() == 0) {
      steps = done;
    }
  });
  EXPECT_EQ(steps, tries - (tries / 4 - 1));
  expect_steps(steps);
}

// The data of the step makes it longer again, but not whole.
TEST_P(CutFile, AStepDuringWhichAnotherProgramCutsTheFileFails) {
  storage_ = by_fate();
  exec::run_local(ranks, 1, [&](exec::Transport& transport) {
    File out(detail::open_on(transport, storage_, path(), Mode::write, options()));
    for (int i = 0; i < 2; ++i) {
      put_step(out, transport.rank());
      out.drain(60);
    }
    transport.barrier();
    fate = Fate::cut;
    transport.barrier();
    const Error error = error_of([&] {
      put_step(out, transport.rank());
      out.close();
    });
    EXPECT_EQ(error.code(), Code::changed_outside) << error.what();
  });
  EXPECT_EQ(fate, Fate::none) << "no data was written";
}

TEST_P(CutFile, AnEndThatNobodyHasWrittenIsNotTakenForACut) {
  write(Mode::write, 2);
  write(Mode::append, 2);
  write(Mode::append, 2);
  expect_steps(6);
}

TEST_P(CutFile, StepsThatARestartDropsAreNotTakenForACut) {
  write(Mode::write, 4);
  write(Mode::append, 3, 0);
  write(Mode::append, 3, 1);
  expect_steps(5);
}

INSTANTIATE_TEST_SUITE_P(Strategies, CutFile, testing::Values("serial", "shared", "forward"),
                         [](const auto& named) { return std::string(named.param); });

}  // namespace
}  // namespace sluice::test
