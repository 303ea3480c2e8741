// A reader that stays open while the writer goes on: it reads the steps that it has seen, whatever
// the writer has changed in the file since. What fails on a file that nobody changes is damage.
#include <chrono>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "layout/local_files.hpp"
#include "model/clock.hpp"
#include "storage/posix_calls.hpp"
#include "storage/scratch.hpp"
#include "support/errors.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

constexpr int arrays = 3;
const Shape shape{40, 5};

std::string name_of(int array) { return "v" + std::to_string(array); }

/// Every commit is put in place at once.
Options at_once(const std::string& compress = "") {
  Options options;
  options.apply_every_s = 0;
  options.compress = compress;
  return options;
}

void define_all(File& out) {
  for (int a = 0; a < arrays; ++a) {
    out.define<double>(name_of(a), shape, {.steps = true});
  }
}

/// Step `s` has the values of key `s`.
void write_step(File& out, const exec::Transport& transport, std::uint64_t s) {
  Giver<double> giver;
  Step step = out.begin_step({.time = static_cast<double>(s)});
  for (int a = 0; a < arrays; ++a) {
    giver.put(step, out.find(name_of(a)), s, shape,
              slab(shape, transport.rank(), transport.size()));
  }
  step.end();
}

class BesideWriter : public testing::TestWithParam<const char*> {
 protected:
  LocalFiles files_;
};

TEST_P(BesideWriter, ReadsTheStepsThatItHasSeenAsTheWriterGoesOn) {
  const std::string path = std::string("out") + GetParam();
  for (const int ranks : {1, 2}) {
    files_.run(ranks, [&](exec::Transport& transport) {
      File out = files_.open(transport, path, Mode::write, at_once());
      define_all(out);
      std::uint64_t written = 0;
      for (int round = 0; round < 8; ++round) {
        const std::uint64_t seen = written + 3;
        for (; written < seen; ++written) {
          write_step(out, transport, written);
        }
        File in = files_.open(transport, path, Mode::read);
        for (int more = 0; more < 20; ++more) {
          write_step(out, transport, written++);
        }
        EXPECT_EQ(in.steps(), seen);
        for (int a = 0; a < arrays; ++a) {
          expect_values<double>(in, name_of(a), seen - 1, shape, whole_box(shape), seen - 1);
          write_step(out, transport, written++);
          expect_values<double>(in, name_of(a), 0, shape, whole_box(shape), 0);
        }
        EXPECT_EQ(in.steps(), seen);
        EXPECT_EQ(in.time(seen - 1), static_cast<double>(seen - 1));
      }
    });
  }
}

/// A new variable comes into the first of two groups, and so before those of the second.
TEST_P(BesideWriter, FindsItsVariablesBehindNewOnes) {
  const std::string path = std::string("grouped") + GetParam();
  files_.run(2, [&](exec::Transport& transport) {
    File out = files_.open(transport, path, Mode::write, at_once());
    const model::Box mine = slab(shape, transport.rank(), transport.size());
    const auto put_steps = [&](std::uint64_t first, const std::vector<std::string>& names) {
      for (std::uint64_t s = first; s < first + 20; ++s) {
        Giver<double> giver;
        Step step = out.begin_step({.time = static_cast<double>(s)});
        for (std::uint64_t v = 0; v < names.size(); ++v) {
          giver.put(step, out.find(names[v]), 100 * v + s, shape, mine);
        }
        step.end();
      }
    };
    std::vector<std::string> names{"a/first", "b/second"};
    for (const std::string& name : names) {
      out.define<double>(name, shape, {.steps = true});
    }
    put_steps(0, names);
    File in = files_.open(transport, path, Mode::read);
    out.define<double>("a/late", shape, {.steps = true, .partial = true});
    names.emplace_back("a/late");
    put_steps(20, names);
    for (std::uint64_t v = 0; v < 2; ++v) {
      for (const std::uint64_t s : {0U, 19U}) {
        expect_values<double>(in, names[v], 100 * v + s, shape, whole_box(shape), s);
      }
    }
    EXPECT_EQ(in.steps(), 20U);
  });
}

/// As the test before that, by the clock: neither process knows when the other works.
TEST_P(BesideWriter, FollowsAnotherProcess) {
  const storage::Scratch scratch;
  const std::string path = scratch / (std::string("out") + GetParam());
  const std::string ready = scratch / "ready";  // a new store has its name before it is whole
  constexpr int most_steps = 400;
  const pid_t child = ::fork();
  if (child == 0) {
    const Error error = storage::error_of([&] {
      exec::run_local(1, 1, [&](exec::Transport& transport) {
        File out(detail::open_on(transport, storage::make_posix(), path, Mode::write, at_once()));
        define_all(out);
        for (int s = 0; s < most_steps; ++s) {
          write_step(out, transport, static_cast<std::uint64_t>(s));
          std::ofstream(ready) << s;
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
      });
    });
    if (error.code() != Code::ok) fprintf(stderr, "%s\n", error.what());
    ::_exit(error.code() == Code::ok ? 0 : 1);
  }
  int status = 0;
  int reads = 0;
  std::uint64_t last = 0;
  exec::run_local(1, 2, [&](exec::Transport& transport) {
    const double end_s = model::now_s() + 4;
    while (::access(ready.c_str(), F_OK) != 0 && model::now_s() < end_s) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    File in(detail::open_on(transport, storage::make_posix(), path, Mode::read, {}));
    while (::waitpid(child, &status, WNOHANG) == 0 && model::now_s() < end_s) {
      in.refresh();
      if (in.steps() == 0) {
        continue;
      }
      EXPECT_GE(in.steps(), last);
      last = in.steps();
      for (int a = 0; a < arrays; ++a) {
        expect_values<double>(in, name_of(a), last - 1, shape, whole_box(shape), last - 1);
        ++reads;
      }
    }
  });
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  EXPECT_GT(reads, 20);
  EXPECT_GT(last, 2U);
}

INSTANTIATE_TEST_SUITE_P(Formats, BesideWriter, testing::Values(".h5", ".nc", ".zarr"),
                         [](const auto& of) { return std::string(of.param).substr(1); });

}  // namespace
}  // namespace sluice::test
