// Steps with different numbers of rows: in both forms of HDF5 and in netCDF-4, written, appended
// to, read back on another number of ranks, verified.
#include "commit/tools/verify.hpp"
#include "layout/local_files.hpp"

namespace sluice::test {
namespace {

struct Form {
  std::string name;
  std::string path;
  Options options;
};

Form form_of(const std::string& name) {
  Form form{name, name == "netcdf4" ? "v.nc" : "v.h5", {}};
  form.options.hdf5_layout = name == "grouped" ? "grouped" : "stacked";
  return form;
}

class Varying : public testing::TestWithParam<std::string> {
 public:
  static std::uint64_t rows_of(std::uint64_t step) { return (5 * step) % 9; }
  static Shape shape_of(std::uint64_t step) { return {rows_of(step), 3}; }
  static constexpr std::uint64_t most = 8;

  void write(Mode mode, std::uint64_t first, std::uint64_t steps,
             const VariableOptions& options = {.steps = true, .unit = "m", .varying = true}) {
    files.run(3, [&](exec::Transport& transport) {
      File out = files.open(transport, form.path, mode, form.options);
      const auto v = out.define<double>("deep/v", {most, 3}, options);
      const auto w = out.define<float>("w", {4}, {.steps = true});
      for (std::uint64_t s = first; s < first + steps; ++s) {
        Giver<double> giver;
        Giver<float> other;
        Step step = out.begin_step({.time = 0.5 * static_cast<double>(s)});
        step.resize(v, rows_of(s));
        giver.put(step, v, s, shape_of(s), slab(shape_of(s), transport.rank(), 3));
        other.put(step, w, s, {4}, slab({4}, transport.rank(), 3));
        step.end();
      }
      out.close();
    });
  }

  void expect_steps(std::uint64_t steps) {
    files.run(2, [&](exec::Transport& transport) {
      File in = files.open(transport, form.path, Mode::read);
      ASSERT_EQ(in.steps(), steps);
      const auto v = in.find("deep/v");
      EXPECT_EQ(in.info(v).shape, (Shape{most, 3}));
      EXPECT_EQ(std::get<std::string>(in.attribute("deep/v", "units")), "m");
      for (std::uint64_t s = 0; s < steps; ++s) {
        EXPECT_EQ(in.time(s), 0.5 * static_cast<double>(s));
        EXPECT_EQ(in.shape(v, s), shape_of(s));
        expect_values<double>(in, "deep/v", s, shape_of(s), whole_box(shape_of(s)), s);
        expect_values<double>(in, "deep/v", s, shape_of(s), slab(shape_of(s), transport.rank(), 2),
                              s);
        expect_values<float>(in, "w", s, {4}, slab({4}, transport.rank(), 2), s);
      }
      EXPECT_THROW(in.shape(v, steps), Error);
      expect_rows(in, v);
    });
  }

  /// Rows by index, and one beyond what the step has.
  void expect_rows(File& in, Variable v) {
    constexpr std::uint64_t step = 3;  // of 6 rows
    const std::vector<std::uint64_t> ids{5, 0, 5};
    std::vector<double> got(9);
    in.get_rows(v, ids.data(), ids.size(), got.data(), step);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i], value_at<double>(step, ids[i / 3] * 3 + i % 3));
    }
    const std::uint64_t beyond = 6;
    EXPECT_THROW(in.get_rows(v, &beyond, 1, got.data(), step), Error);
  }

  LocalFiles files;
  Form form = form_of(GetParam());
};

TEST_P(Varying, IsReadBackAsWritten) {
  write(Mode::write, 0, 5);
  expect_steps(5);
  write(Mode::append, 5, 4);
  expect_steps(9);
}

TEST_P(Varying, IsProvenByItsChecksums) {
  write(Mode::write, 0, 5);
  files.run(2, [&](exec::Transport& transport) {
    const auto verdict = commit::verify(transport, *files.storage(), form.path);
    EXPECT_EQ(verdict.state, commit::State::ok);
    EXPECT_EQ(verdict.finding_count, 0u);
    EXPECT_EQ(verdict.uncovered_count, 0u)
        << (verdict.uncovered.empty() ? "" : verdict.uncovered[0]);
    std::uint64_t bytes = 0;
    for (std::uint64_t s = 0; s < 5; ++s) {
      bytes += rows_of(s) * 3 * sizeof(double) + 4 * sizeof(float);
    }
    const std::uint64_t lengths = form.name == "grouped" ? 0 : 5 * sizeof(std::uint64_t);
    EXPECT_EQ(verdict.bytes, bytes + lengths);
  });
}

/// Steps are whole tiles, which are chosen by the rows of the first step and not by the most.
TEST_P(Varying, TakesLittleMoreThanItsRows) {
  constexpr Shape::value_type many = 50'000'000;
  for (const std::uint64_t first_rows : {0, 500, 40'000}) {
    constexpr std::uint64_t steps = 8;
    std::uint64_t rows = first_rows;
    std::uint64_t bytes = 0;
    files.run(2, [&](exec::Transport& transport) {
      File out = files.open(transport, form.path, Mode::write, form.options);
      const auto v = out.define<double>("v", {many, 3}, {.steps = true, .varying = true});
      for (std::uint64_t s = 0; s < steps; ++s) {
        transport.barrier();
        if (transport.rank() == 0 && s > 0) {
          rows = std::max<std::uint64_t>(rows, 6000) + 17;
        }
        if (transport.rank() == 0) {
          bytes += rows * 3 * sizeof(double);
        }
        transport.barrier();
        const std::uint64_t from = transport.rank() == 0 ? 0 : rows / 3;
        const std::uint64_t count = (transport.rank() == 0 ? rows / 3 : rows) - from;
        const std::vector<double> values(count * 3, 7);
        Step step = out.begin_step();
        step.resize(v, rows);
        step.put(v, values.data(), {.start = {from, 0}, .count = {count, 3}});
        step.end();
      }
      out.close();
    });
    EXPECT_LT(files.storage()->open(form.path, storage::Access::read)->size(),
              bytes + bytes / 2 + steps * 4096 + 64 * 1024)
        << first_rows;
  }
}

TEST_P(Varying, PartialStepsReadAsTheirFill) {
  files.run(2, [&](exec::Transport& transport) {
    File out = files.open(transport, form.path, Mode::write, form.options);
    const auto v =
        out.define<double>("v", {6}, {.steps = true, .partial = true, .fill = -1, .varying = true});
    const double value = 7;
    Step first = out.begin_step();
    first.resize(v, 4);
    if (transport.rank() == 1) {
      first.put(v, &value, {.start = {2}, .count = {1}});
    }
    first.end();
    Step second = out.begin_step();
    second.resize(v, 2);
    second.end();
    out.begin_step().end();  // without resize: all rows
    out.close();
  });
  files.run(1, [&](exec::Transport& transport) {
    File in = files.open(transport, form.path, Mode::read);
    const std::vector<std::vector<double>> expected{
        {-1, -1, 7, -1}, {-1, -1}, {-1, -1, -1, -1, -1, -1}};
    for (std::uint64_t s = 0; s < 3; ++s) {
      std::vector<double> got(in.shape(in.find("v"), s)[0]);
      in.get(in.find("v"), got.data(), {}, s);
      EXPECT_EQ(got, expected[s]) << "step " << s;
    }
    double beyond = 0;
    EXPECT_THROW(in.get(in.find("v"), &beyond, {.start = {3}, .count = {1}}, 1), Error);
  });
}

TEST_P(Varying, WrongUseIsNamed) {
  const auto end = [&](const std::function<void(Step&, Variable, int)>& work) {
    return files.caught(2, [&](exec::Transport& transport) {
      File out = files.open(transport, form.path, Mode::write, form.options);
      const auto v = out.define<double>("v", {6}, {.steps = true, .varying = true});
      out.define<double>("plain", {6}, {.steps = true, .partial = true});
      Step step = out.begin_step();
      work(step, v, transport.rank());
      step.end();
      out.close();
    });
  };
  const double values[6] = {};
  expect_error(end([&](Step& step, Variable v, int) { step.resize(v, 7); }), Code::out_of_bounds,
               {"resize v", "7 rows", "(6)"});
  expect_error(end([&](Step& step, Variable, int) {
                 step.resize(Variable(form.name == "grouped" ? 1 : 2), 3);
               }),
               Code::invalid_argument, {"resize plain", "varying"});
  expect_error(end([&](Step& step, Variable v, int rank) {
                 step.resize(v, rank == 0 ? 3 : 4);
                 if (rank == 0) {
                   step.put(v, values, {.count = {3}});
                 }
               }),
               Code::divergent, {"rank 1 gave v 4 rows, rank 0 3 rows"});
  expect_error(end([&](Step& step, Variable v, int rank) {
                 if (rank == 0) {
                   step.put(v, values, {.count = {2}});
                 }
                 step.resize(v, 2);
               }),
               Code::wrong_state, {"resize v", "before the first put"});
  expect_error(end([&](Step& step, Variable v, int rank) {
                 step.resize(v, 3);
                 if (rank == 0) {
                   step.put(v, values, {.count = {4}});
                 }
               }),
               Code::out_of_bounds, {"put v"});
  expect_error(end([&](Step& step, Variable v, int rank) {
                 step.resize(v, 3);
                 if (rank == 0) {
                   step.put(v, values, {.count = {2}});
                 }
               }),
               Code::hole, {"v"});
}

INSTANTIATE_TEST_SUITE_P(Forms, Varying, testing::Values("stacked", "grouped", "netcdf4"),
                         [](const auto& form) { return form.param; });

TEST(VaryingOptions, NeedStepsAndRows) {
  LocalFiles files;
  files.run(1, [&](exec::Transport& transport) {
    File out = files.open(transport, "v.h5", Mode::write);
    EXPECT_THROW(out.define<double>("v", {4}, {.varying = true}), Error);
  });
  files.run(1, [&](exec::Transport& transport) {
    File out = files.open(transport, "w.h5", Mode::write);
    EXPECT_THROW(out.define<double>("v", {}, {.steps = true, .varying = true}), Error);
  });
}

}  // namespace
}  // namespace sluice::test
