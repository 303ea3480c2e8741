// A variable of the caller called `time`, or in a group of that name, in formats that keep the
// times of steps in a variable of that name: the caller's where it is defined before the first step
// with a time, and refused by define() after it.
#include "commit/tools/verify.hpp"
#include "layout/local_files.hpp"

namespace sluice::test {
namespace {

struct Form {
  std::string name;
  std::string path;
  std::string strategy = "shared";
};

class OwnTime : public testing::TestWithParam<Form> {
 public:
  File open(exec::Transport& transport, Mode mode) {
    Options options;
    options.strategy = GetParam().strategy;
    return files.open(transport, GetParam().path, mode, options);
  }

  static void put_step(File& out, double value, std::optional<double> time = std::nullopt) {
    const auto h = out.define<double>("h", {}, {.steps = true});
    Step step = time ? out.begin_step({.time = *time}) : out.begin_step();
    step.put(h, &value);
    step.end();
  }

  /// Also that steps go on after the one that the refusal fails.
  static void expect_refusal(File& out, const std::string& name, bool steps) {
    try {
      out.define<double>(name, steps ? Shape{} : Shape{3}, {.steps = steps});
      ADD_FAILURE() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::exists);
      const std::vector<VariableInfo> all = out.variables();
      const bool is_known = std::any_of(all.begin(), all.end(),
                                        [&](const VariableInfo& v) { return v.name == name; });
      const std::string why = is_known ? ": exists already with shape (2)"
                                       : ": since its first step with a time the file";
      EXPECT_NE(std::string(e.what()).find("define " + name + why), std::string::npos) << e.what();
    }
    EXPECT_THROW(put_step(out, 0, 0.0), Error);
  }

  static std::vector<double> values_of(File& in, const std::string& name) {
    std::vector<double> values(3);
    in.get(in.find(name), values.data());
    return values;
  }

  static std::vector<double> times_of(const File& in) {
    std::vector<double> times;
    for (std::uint64_t s = 0; s < in.steps(); ++s) {
      times.push_back(in.time(s));
    }
    return times;
  }

  void expect_sound(exec::Transport& transport) {
    EXPECT_EQ(commit::verify(transport, *files.storage(), GetParam().path).finding_count, 0u);
  }

  LocalFiles files;
};

TEST_P(OwnTime, OfTheLibraryIsNotReplaced) {
  files.run(1, [&](exec::Transport& transport) {
    for (const Mode mode : {Mode::write, Mode::append}) {
      File out = open(transport, mode);
      const double first = mode == Mode::write ? 0 : 2;
      if (mode == Mode::write) {
        put_step(out, first, first);
      }
      expect_refusal(out, "time", true);
      expect_refusal(out, "time", false);
      expect_refusal(out, "time/sub", false);
      put_step(out, first + 1, first + 1);
      if (mode == Mode::append) {
        if (GetParam().strategy == "shared") {
          out.define<double>("time", {2});  // as the file has it
        }
        put_step(out, first, first);
      }
      out.close();
    }
    File in = files.open(transport, GetParam().path, Mode::read);
    ASSERT_EQ(in.steps(), 4u);
    EXPECT_EQ(times_of(in), (std::vector<double>{0, 1, 3, 2}));
    expect_sound(transport);
  });
}

TEST_P(OwnTime, ComesWithTheFirstTime) {
  files.run(1, [&](exec::Transport& transport) {
    File out = open(transport, Mode::write);
    put_step(out, 0);
    put_step(out, 1, 1);
    expect_refusal(out, "time", true);
    out.close();
    expect_sound(transport);
  });
}

TEST_P(OwnTime, IsTheCallersBeforeTheFirstStep) {
  const std::vector<double> values{7, 8, 9};
  const bool is_netcdf = GetParam().path == "t.nc";  // which has a dimension of that name
  for (const std::string name : {"time", "time/sub"}) {
    files.run(1, [&](exec::Transport& transport) {
      if (is_netcdf) {
        return;
      }
      File out = open(transport, Mode::write);
      out.put(out.define<double>(name, {3}), values.data());
      put_step(out, 0, 5);
      put_step(out, 1, 6);
      out.close();
      File again = open(transport, Mode::append);
      again.define<double>(name, {3});
      put_step(again, 2, 7);
      again.close();
      File in = files.open(transport, GetParam().path, Mode::read);
      EXPECT_EQ(values_of(in, name), values);
      EXPECT_EQ(times_of(in), (std::vector<double>{5, 6, 7}));
      expect_sound(transport);
    });
  }
}

TEST_P(OwnTime, IsTheCallersWhereNoStepHasATime) {
  const std::vector<double> values{7, 8, 9};
  for (const std::string name : {"time", "time/sub"}) {
    files.run(1, [&](exec::Transport& transport) {
      if (GetParam().path == "t.nc") {
        return;
      }
      File out = open(transport, Mode::write);
      put_step(out, 0);
      out.put(out.define<double>(name, {3}), values.data());
      put_step(out, 1, 1);
      out.close();
      File in = files.open(transport, GetParam().path, Mode::read);
      EXPECT_EQ(values_of(in, name), values);
      EXPECT_EQ(in.time(1), 1);
      expect_sound(transport);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, OwnTime,
                         testing::Values(Form{"hdf5", "t.h5"}, Form{"netcdf4", "t.nc"},
                                         Form{"vtkhdf", "t.vtkhdf"}, Form{"zarr", "t.zarr"},
                                         Form{"icechunk", "t.icechunk"},
                                         Form{"set", "t.h5", "file-per-process"}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace sluice::test
