// restart_after: a run that continues from step k of an earlier one finds k + 1 steps, whatever was
// written after them; readers then see what it adds.
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

#include "api/file/file_impl.hpp"
#include "commit/tools/verify.hpp"
#include "crash/snapshot.hpp"
#include "storage/scratch.hpp"
#include "support/local_transport.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

const Shape shape{12, 5};

struct Case {
  const char* name;
  const char* strategy;
  const char* format = "hdf5";
  const char* form = "stacked";
  bool has_names() const { return std::string(format) != "npy"; }
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Restart : public testing::TestWithParam<Case> {
 protected:
  Options options() const {
    Options options;
    options.strategy = GetParam().strategy;
    options.format = GetParam().format;
    options.hdf5_layout = GetParam().form;
    return options;
  }
  std::string path() const {
    return scratch_ / (GetParam().has_names() ? "out.h5" : "density.npy");
  }

  using Body = std::function<void(exec::Transport&)>;
  void run(const Body& body, int ranks = 4) { exec::run_local(ranks, ++seed_, body); }
  File open(exec::Transport& transport, Mode mode, const Options& options) {
    return File(detail::open_on(transport, storage_, path(), mode, options));
  }

  /// Steps [first, first + count) with values of `key` + step.
  void put_steps(exec::Transport& transport, File& out, std::uint64_t key, std::uint64_t first,
                 std::uint64_t count) {
    const Variable v = out.define<double>("density", shape, {.steps = true});
    for (std::uint64_t s = first; s < first + count; ++s) {
      Giver<double> giver;
      const double time = GetParam().has_names() ? static_cast<double>(key + s) : std::nan("");
      Step step = out.begin_step({.time = time});
      giver.put(step, v, key + s, shape, slab(shape, transport.rank(), transport.size()));
      EXPECT_EQ(step.end().step(), s);
    }
  }

  void make(std::uint64_t steps) {
    run([&](exec::Transport& transport) {
      File out = open(transport, Mode::write, options());
      put_steps(transport, out, 100, 0, steps);
      if (GetParam().has_names()) {
        Giver<float> giver;
        const Variable fixed = out.define<float>("fixed", shape);
        giver.put(out, fixed, 77, shape, slab(shape, transport.rank(), transport.size()));
      }
      out.close();
    });
  }

  void restart(std::int64_t restart_after, std::uint64_t key, std::uint64_t steps) {
    run([&](exec::Transport& transport) {
      Options wanted = options();
      wanted.restart_after = restart_after;
      File out = open(transport, Mode::append, wanted);
      const auto first = static_cast<std::uint64_t>(restart_after) + 1;
      EXPECT_EQ(out.steps(), first);
      put_steps(transport, out, key, first, steps);
      out.close();
    });
  }

  void expect(const std::vector<std::uint64_t>& keys) {
    run(
        [&](exec::Transport& transport) {
          File in = open(transport, Mode::read, {});
          ASSERT_EQ(in.steps(), keys.size());
          for (std::uint64_t s = 0; s < keys.size(); ++s) {
            expect_values<double>(in, "density", keys[s], shape, whole_box(shape), s);
            if (GetParam().has_names()) {
              EXPECT_EQ(in.time(s), static_cast<double>(keys[s]));
            }
          }
          if (GetParam().has_names()) {
            expect_values<float>(in, "fixed", 77, shape, whole_box(shape));
            const commit::Verdict verdict = commit::verify(transport, *storage_, path());
            EXPECT_EQ(verdict.state, commit::State::ok);
            EXPECT_EQ(verdict.uncovered_count, 0u);
            EXPECT_FALSE(verdict.modified);
          }
        },
        2);
  }

  storage::Scratch scratch_;
  std::shared_ptr<storage::Storage> storage_ = storage::make_posix();
  std::uint64_t seed_ = 0;
};

TEST_P(Restart, DropsLaterStepsAndGoesOn) {
  make(6);
  expect({100, 101, 102, 103, 104, 105});
  restart(2, 200, 2);
  expect({100, 101, 102, 203, 204});
  restart(0, 300, 4);
  expect({100, 301, 302, 303, 304});
  restart(4, 400, 1);  // the last one: nothing is dropped
  expect({100, 301, 302, 303, 304, 405});
  restart(1, 500, 0);
  expect({100, 301});
}

TEST_P(Restart, KeepsTheFileAsItIsWhereThereIsNoSuchStep) {
  make(2);
  std::vector<std::string> texts(4);
  run([&](exec::Transport& transport) {
    Options wanted = options();
    wanted.restart_after = 2;
    try {
      File out = open(transport, Mode::append, wanted);
      ADD_FAILURE() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::out_of_bounds);
      texts[static_cast<std::size_t>(transport.rank())] = e.what();
    }
  });
  EXPECT_NE(texts[0].find("restart_after 2: the file has 2 steps, counted from 0: give 1 or less"),
            std::string::npos)
      << texts[0];
  EXPECT_EQ(texts, std::vector<std::string>(4, texts[0]));
  expect({100, 101});
}

/// The steps that plain libhdf5 reads.
class RestartOfHdf5 : public Restart {};

TEST_P(RestartOfHdf5, LeavesNoFileOfPlainToolsBroken) {
  make(40);  // more than one node of each chunk index
  restart(20, 200, 3);
  restart(3, 300, 30);
  EXPECT_TRUE(plain_set_snapshot(path()).has_value());
  std::vector<std::uint64_t> keys{100, 101, 102, 103};
  for (std::uint64_t s = 4; s < 34; ++s) {
    keys.push_back(300 + s);
  }
  expect(keys);
}

const auto of_hdf5 = testing::Values(
    Case{"serial", "serial"}, Case{"shared", "shared"}, Case{"collective", "collective"},
    Case{"forward", "forward"}, Case{"auto", "auto"}, Case{"netcdf4", "shared", "netcdf4"},
    Case{"grouped", "shared", "hdf5", "grouped"}, Case{"per_process", "file-per-process"},
    Case{"per_node", "file-per-node"});
const auto name_of = [](const testing::TestParamInfo<Case>& named) {
  return std::string(named.param.name);
};

INSTANTIATE_TEST_SUITE_P(Formats, Restart, of_hdf5, name_of);
INSTANTIATE_TEST_SUITE_P(Formats, RestartOfHdf5, of_hdf5, name_of);
INSTANTIATE_TEST_SUITE_P(Npy, Restart, testing::Values(Case{"npy", "shared", "npy"}), name_of);

}  // namespace
}  // namespace sluice::test
