// Rows that follow those of the rank before: whatever the ranks put, a step has what a gather in
// the order of the ranks gives, in every format whose steps have rows of different number.
#include <numeric>
#include <random>

#include "layout/local_files.hpp"

namespace sluice::test {
namespace {

constexpr std::uint64_t most = 60;

struct Form {
  const char* path;
  const char* layout;  ///< of HDF5
  bool in_parts;       ///< may it be several files?
  bool compress;
};
constexpr Form forms[] = {{"j.h5", "stacked", true, true},
                          {"j.h5", "grouped", false, false},
                          {"j.nc", "stacked", true, true},
                          {"j.zarr", "stacked", false, true},
                          {"j.rec", "stacked", false, false}};
constexpr const char* strategies[] = {"serial", "shared",           "collective",   "forward",
                                      "auto",   "file-per-process", "file-per-node"};

/// What one rank puts in one step: a number of rows for each call.
using Calls = std::vector<std::uint64_t>;

struct Case {
  int ranks;
  const Form* form;
  Options options;
  std::string compress;
  Shape row;                                   ///< the shape of a row
  std::vector<std::vector<Calls>> calls = {};  ///< by step, by rank

  explicit Case(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](std::uint64_t n) { return random() % n; };
    form = &forms[pick(std::size(forms))];
    ranks = 1 + static_cast<int>(pick(6));
    options.strategy = strategies[pick(std::size(strategies) - (form->in_parts ? 0 : 2))];
    options.hdf5_layout = form->layout;
    options.log = Log::off;
    options.check = pick(4) == 0 ? Check::off : Check::full;
    compress = form->compress && pick(3) == 0 ? "deflate:1" : "none";
    row = pick(3) == 0 ? Shape{} : pick(2) == 0 ? Shape{3} : Shape{2, 1 + pick(4)};
    std::vector<std::uint64_t> joins_at;
    for (int r = 0; r < ranks; ++r) {
      joins_at.push_back(r == 0 || pick(2) == 0 ? 0 : pick(4));
    }
    for (std::uint64_t step = 0, steps = 1 + pick(5); step < steps; ++step) {
      if (step != 0 && pick(4) == 0) {
        calls.push_back(calls.back());  // nothing changes, and nothing is agreed on anew
        continue;
      }
      std::vector<Calls>& of_step = calls.emplace_back();
      for (int r = 0; r < ranks; ++r) {
        Calls& mine = of_step.emplace_back();
        if (r == 0) {
          mine.push_back(pick(3));  // somebody puts it
        }
        for (std::uint64_t n = pick(3); n > 0 && step >= joins_at[static_cast<std::size_t>(r)];
             --n) {
          mine.push_back(pick(3) == 0 ? 0 : pick(5));
        }
      }
    }
  }

  std::uint64_t row_elements() const {
    return std::accumulate(row.begin(), row.end(), std::uint64_t{1}, std::multiplies<>());
  }
  Shape shape(std::uint64_t rows) const {
    Shape all{rows};
    all.insert(all.end(), row.begin(), row.end());
    return all;
  }
  static double value(std::uint64_t step, int rank, std::uint64_t element) {
    return static_cast<double>(step) * 1e6 + rank * 1e4 + static_cast<double>(element);
  }
  /// All that a rank puts, one call behind the other.
  std::vector<float> data(std::uint64_t step, int rank) const {
    const Calls& mine = calls[step][static_cast<std::size_t>(rank)];
    std::vector<float> values(std::accumulate(mine.begin(), mine.end(), std::uint64_t{0}) *
                              row_elements());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(value(step, rank, i));
    }
    return values;
  }
  std::vector<double> gathered(std::uint64_t step) const {
    std::vector<double> all;
    for (int r = 0; r < ranks; ++r) {
      const auto mine = data(step, r);
      all.insert(all.end(), mine.begin(), mine.end());
    }
    return all;
  }
};

class Joined : public testing::Test {
 protected:
  void write(const Case& c) {
    files_.run(c.ranks, [&](exec::Transport& transport) {
      File out = files_.open(transport, c.form->path, Mode::write, c.options);
      const auto v = out.define<double>("g/v", c.shape(most),
                                        {.steps = true, .varying = true, .compress = c.compress});
      const auto n = out.define<std::int64_t>("n", {}, {.steps = true});
      for (std::uint64_t s = 0; s < c.calls.size(); ++s) {
        const std::vector<float> mine = c.data(s, transport.rank());
        const auto number = static_cast<std::int64_t>(s);
        Step step = out.begin_step();
        const float* at = mine.data();
        for (const std::uint64_t rows : c.calls[s][static_cast<std::size_t>(transport.rank())]) {
          step.put_joined(v, at, rows);
          at += rows * c.row_elements();
        }
        if (transport.rank() == transport.size() - 1) {
          step.put(n, &number);
        }
        step.end();
      }
      out.close();
    });
  }

  void expect_gathered(const Case& c, int readers) {
    files_.run(readers, [&](exec::Transport& transport) {
      File in = files_.open(transport, c.form->path, Mode::read);
      const auto v = in.find("g/v");
      ASSERT_EQ(in.steps(), c.calls.size());
      for (std::uint64_t s = 0; s < c.calls.size(); ++s) {
        const std::vector<double> expected = c.gathered(s);
        const Shape shape = in.shape(v, s);
        ASSERT_EQ(shape, c.shape(expected.size() / c.row_elements())) << "step " << s;
        std::vector<double> got(expected.size());
        in.get(v, got.data(), {}, s);
        EXPECT_EQ(got, expected) << "step " << s;
        std::int64_t number = -1;
        in.get(in.find("n"), &number, {}, s);
        EXPECT_EQ(number, static_cast<std::int64_t>(s));
      }
    });
  }

  LocalFiles files_;
};

TEST_F(Joined, AreWhatAGatherGives) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Case c(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + std::to_string(c.ranks) + " ranks, " +
                 c.form->path + ", " + c.form->layout + ", " + c.options.strategy + ", compress " +
                 c.compress);
    files_ = LocalFiles();
    write(c);
    expect_gathered(c, 1 + static_cast<int>(seed % 3));
    if (HasFailure()) {
      return;
    }
  }
}

/// Rank 2 alone joins rows, of the last of so many variables, and in step 1 only: the numbers of
/// all ranks' rows do not fit where those of variables that are put do.
TEST_F(Joined, ByOneRankAmongManyVariables) {
  constexpr int ranks = 4;
  constexpr int variables = 15;
  files_.run(ranks, [&](exec::Transport& transport) {
    File out = files_.open(transport, "many.h5", Mode::write, {});
    std::vector<Variable> all;
    for (int v = 0; v < variables; ++v) {
      all.push_back(out.define<double>("v" + std::to_string(v), {6},
                                       {.steps = true, .partial = true, .varying = true}));
    }
    const double values[2] = {10.0 * transport.rank(), 10.0 * transport.rank() + 1};
    for (int s = 0; s < 2; ++s) {
      Step step = out.begin_step();
      if (s == 0) {
        step.resize(all.front(), ranks);
        step.put(all.front(), values,
                 {.start = {static_cast<std::uint64_t>(transport.rank())}, .count = {1}});
      } else if (transport.rank() == 2) {
        step.put_joined(all.back(), values, 2);
      }
      step.end();
    }
    out.close();
  });
  files_.run(1, [&](exec::Transport& transport) {
    File in = files_.open(transport, "many.h5", Mode::read);
    std::vector<double> got(4);
    in.get(in.find("v0"), got.data(), {}, 0);
    EXPECT_EQ(got, (std::vector<double>{0, 10, 20, 30}));
    ASSERT_EQ(in.shape(in.find("v14"), 1), Shape{2});
    got.resize(2);
    in.get(in.find("v14"), got.data(), {}, 1);
    EXPECT_EQ(got, (std::vector<double>{20, 21}));
  });
}

class JoinedRefusals : public testing::TestWithParam<const char*> {
 protected:
  Error end(const std::function<void(Step&, Variable, int)>& work) {
    return files_.caught(3, [&](exec::Transport& transport) {
      File out = files_.open(transport, GetParam(), Mode::write, {});
      const auto v = out.define<double>("v", {6}, {.steps = true, .varying = true});
      out.define<double>("plain", {6}, {.steps = true, .partial = true});
      Step step = out.begin_step();
      work(step, v, transport.rank());
      step.end();
      out.close();
    });
  }
  LocalFiles files_;
  const double values_[6] = {1, 2, 3, 4, 5, 6};
};

TEST_P(JoinedRefusals, AreTheSameOnEveryRank) {
  expect_error(end([&](Step& step, Variable v, int) { step.put_joined(v, values_, 3); }),
               Code::out_of_bounds, {"put_joined v", "9 rows together", "(6)"});
  expect_error(end([&](Step& step, Variable v, int rank) {
                 step.put_joined(v, values_, rank == 1 ? 7 : 0);
               }),
               Code::out_of_bounds, {"rank 1", "7 rows", "(6)"});
  expect_error(end([&](Step& step, Variable, int) { step.put_joined(Variable(2), values_, 1); }),
               Code::invalid_argument, {"put_joined plain", "varying"});
  expect_error(end([&](Step& step, Variable v, int) {
                 step.resize(v, 6);
                 step.put_joined(v, values_, 2);
               }),
               Code::wrong_state, {"put_joined v", "resize"});
  expect_error(end([&](Step& step, Variable v, int) {
                 step.put_joined(v, values_, 2);
                 step.resize(v, 6);
               }),
               Code::wrong_state, {"resize v", "before the first put"});
  expect_error(end([&](Step& step, Variable v, int rank) {
                 if (rank == 0) {
                   step.put(v, values_, {.count = {2}});
                 } else {
                   step.put_joined(v, values_, 2);
                 }
               }),
               Code::invalid_argument, {"put v", "joined rows and others"});
  expect_error(end([&](Step& step, Variable v, int) {
                 step.put_joined(v, static_cast<const double*>(nullptr), 2);
               }),
               Code::invalid_argument, {"put_joined v", "null pointer"});
  expect_error(end([](Step&, Variable, int) {}), Code::hole, {"v", "no rank put it"});
}

TEST_P(JoinedRefusals, LeaveTheNextStepAsItShouldBe) {
  files_.run(3, [&](exec::Transport& transport) {
    File out = files_.open(transport, GetParam(), Mode::write, {});
    const auto v = out.define<double>("v", {6}, {.steps = true, .varying = true});
    for (const std::uint64_t rows : {3, 2, 1}) {
      Step step = out.begin_step();
      step.put_joined(v, values_, rows);
      if (rows == 3) {
        EXPECT_THROW(step.end(), Error);
      } else {
        step.end();
      }
    }
    out.close();
  });
  files_.run(1, [&](exec::Transport& transport) {
    File in = files_.open(transport, GetParam(), Mode::read);
    EXPECT_EQ(in.shape(in.find("v"), 0), Shape{6});
    EXPECT_EQ(in.shape(in.find("v"), 1), Shape{3});
    std::vector<double> got(6);
    in.get(in.find("v"), got.data(), {}, 0);
    EXPECT_EQ(got, (std::vector<double>{1, 2, 1, 2, 1, 2}));
  });
}

INSTANTIATE_TEST_SUITE_P(Formats, JoinedRefusals, testing::Values("v.h5", "v.nc", "v.zarr"),
                         [](const auto& path) { return std::string(path.param).substr(2); });

}  // namespace
}  // namespace sluice::test
