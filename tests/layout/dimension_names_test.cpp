// Names of dimensions and attributes of the steps' times: read back unchanged, in every format that
// has names, also after an append, a failed step and a conversion.
#include "commit/tools/convert.hpp"
#include "commit/tools/verify.hpp"
#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/scales.hpp"
#include "layout/local_files.hpp"

namespace sluice::test {
namespace {

using Names = std::vector<std::string>;

/// Has the dataset scales for its dimensions?
bool is_attached_in(storage::File& file, const std::string& dataset) {
  layout::hdf5::DriverState state;
  state.file = &file;
  const auto access = layout::hdf5::access_list(state);
  const layout::hdf5::Handle hdf5(H5Fopen(file.path().c_str(), H5F_ACC_RDONLY, access.get()));
  const layout::hdf5::Handle object(H5Dopen2(hdf5.get(), dataset.c_str(), H5P_DEFAULT));
  return layout::hdf5::is_attached(object.get(), dataset);
}

struct Form {
  std::string name;
  std::string path;
  std::string form = "stacked";
  std::string strategy = "shared";
};

class DimensionNames : public testing::TestWithParam<Form> {
 public:
  static constexpr int ranks = 3;
  static inline const Shape shape{4, 6};

  File open(exec::Transport& transport, Mode mode) {
    Options options;
    options.hdf5_layout = form.form;
    options.strategy = form.strategy;
    return files.open(transport, form.path, mode, options);
  }

  /// A stepped variable, its coordinates and a scalar, in `steps` steps.
  void write(Mode mode, std::uint64_t first, std::uint64_t steps) {
    files.run(ranks, [&](exec::Transport& transport) {
      File out = open(transport, mode);
      put_steps(out, transport, first, steps);
      out.close();
    });
  }

  void put_steps(File& out, exec::Transport& transport, std::uint64_t first, std::uint64_t steps) {
    const auto u = out.define<double>("u", shape, {.steps = true, .dimensions = {"y", "x"}});
    const auto e = out.define<double>("e", {}, {.steps = true});
    const auto x = out.define<float>("x", {6}, {.dimensions = {"x"}});
    if (first == 0) {
      out.set_attribute("time", "units", std::string("ps"));
      out.set_attribute("time", "step", 0.25);
    }
    Giver<float> floats;
    if (first == 0) {
      floats.put(out, x, 5, {6}, slab({6}, transport.rank(), ranks));
      out.flush();
    }
    for (std::uint64_t s = first; s < first + steps; ++s) {
      Giver<double> giver;
      Step step = out.begin_step({.time = 0.25 * static_cast<double>(s)});
      giver.put(step, u, s, shape, slab(shape, transport.rank(), ranks));
      const double energy = static_cast<double>(s);
      if (transport.rank() == 0) {
        step.put(e, &energy);
      }
      step.end();
    }
  }

  void expect(const std::string& path, std::uint64_t steps) {
    files.run(2, [&](exec::Transport& transport) {
      File in = files.open(transport, path, Mode::read);
      ASSERT_EQ(in.steps(), steps);
      EXPECT_EQ(in.info(in.find("u")).dimensions, (Names{"y", "x"}));
      EXPECT_EQ(in.info(in.find("x")).dimensions, (Names{"x"}));
      EXPECT_EQ(in.info(in.find("e")).dimensions, Names{});
      EXPECT_EQ(std::get<std::string>(in.attribute("time", "units")), "ps");
      EXPECT_EQ(std::get<double>(in.attribute("time", "step")), 0.25);
      for (const std::string owner : {"u", "x", "e"}) {
        EXPECT_EQ(in.attribute_names(owner), Names{}) << owner;
      }
      expect_values<float>(in, "x", 5, {6}, whole_box({6}), 0);
      for (std::uint64_t s = 0; s < steps; ++s) {
        EXPECT_EQ(in.time(s), 0.25 * static_cast<double>(s));
        expect_values<double>(in, "u", s, shape, slab(shape, transport.rank(), 2), s);
      }
    });
  }

  LocalFiles files;
  Form form = GetParam();
};

TEST_P(DimensionNames, AreReadBack) {
  write(Mode::write, 0, 3);
  expect(form.path, 3);
  write(Mode::append, 3, 2);
  expect(form.path, 5);
  files.run(1, [&](exec::Transport& transport) {
    EXPECT_EQ(commit::verify(transport, *files.storage(), form.path).finding_count, 0u);
  });
}

TEST_P(DimensionNames, StayInAnotherFormat) {
  write(Mode::write, 0, 2);
  for (const std::string to : {"copy.h5", "copy.nc", "copy.zarr", "copy.rec"}) {
    files.run(2, [&](exec::Transport& transport) {
      Options options;
      options.strategy = "shared";
      const auto done = commit::convert(transport, *files.storage(), {form.path, to, options});
      EXPECT_TRUE(done.unnamed.empty());
    });
    expect(to, 2);
  }
}

TEST_P(DimensionNames, SurviveAStepThatFails) {
  const std::string late = form.path == "n.nc" ? "late" : "y";
  write(Mode::write, 0, 1);
  files.run(ranks, [&](exec::Transport& transport) {
    File out = open(transport, Mode::append);
    // A name that has a scale already (netCDF-4 then takes no coordinates), and one without.
    const auto y = out.define<double>(late, {4}, {.dimensions = {late}});
    const auto w =
        out.define<double>("w", {4, 2}, {.steps = true, .partial = true, .dimensions = {"y", "z"}});
    Giver<double> giver;
    giver.put(out, y, 8, {4}, slab({4}, transport.rank(), ranks));
    {
      Step step = out.begin_step({.time = 0.25});
      giver.put(step, w, 1, {4, 2}, slab({4, 2}, transport.rank(), ranks));
      EXPECT_THROW(step.put(w, static_cast<double*>(nullptr), {.start = {9}}), Error);
      EXPECT_THROW(step.end(), Error);
    }
    giver.put(out, y, 8, {4}, slab({4}, transport.rank(), ranks));
    put_steps(out, transport, 1, 2);
    out.close();
  });
  expect(form.path, 3);
  files.run(1, [&](exec::Transport& transport) {
    File in = files.open(transport, form.path, Mode::read);
    EXPECT_EQ(in.info(in.find(late)).dimensions, Names{late});
    EXPECT_EQ(in.info(in.find("w")).dimensions, (Names{"y", "z"}));
    expect_values<double>(in, late, 8, {4}, whole_box({4}), 0);
  });
}

INSTANTIATE_TEST_SUITE_P(
    All, DimensionNames,
    testing::Values(Form{"hdf5", "n.h5"}, Form{"grouped", "n.h5", "grouped"},
                    Form{"netcdf4", "n.nc"}, Form{"vtkhdf", "n.vtkhdf"}, Form{"zarr", "n.zarr"},
                    Form{"records", "n.rec"}, Form{"set", "n.h5", "stacked", "file-per-process"},
                    Form{"netcdf4_set", "n.nc", "stacked", "file-per-process"}),
    [](const auto& tested) { return tested.param.name; });

/// In netCDF-4 a dimension that a commit made stays without coordinates. Steps go on after the one
/// that the refusal fails, as after every other.
TEST(DimensionNames, CoordinatesAfterTheFirstStepAreRefusedByDefine) {
  LocalFiles files;
  const Shape shape{4, 6};
  const auto write = [&](exec::Transport& transport, Mode mode, std::uint64_t first) {
    File out = files.open(transport, "n.nc", mode);
    const auto u = out.define<double>("u", shape, {.steps = true, .dimensions = {"y", "x"}});
    const auto put = [&](std::uint64_t s) {
      Giver<double> giver;
      Step step = out.begin_step({.time = static_cast<double>(s)});
      giver.put(step, u, s, shape, slab(shape, transport.rank(), 2));
      step.end();
    };
    for (std::uint64_t s = first; s < first + 2; ++s) {
      if (s != 0) {
        try {
          out.define<double>("y", {4}, {.dimensions = {"y"}});
          ADD_FAILURE() << "step " << s;
        } catch (const Error& e) {
          EXPECT_EQ(e.code(), Code::unsupported);
          EXPECT_NE(std::string(e.what()).find("define y: format netcdf4: an earlier"),
                    std::string::npos)
              << e.what();
        }
        EXPECT_THROW(put(s), Error);
      }
      put(s);
    }
    out.close();
  };
  files.run(2, [&](exec::Transport& transport) {
    write(transport, Mode::write, 0);
    write(transport, Mode::append, 2);
    File in = files.open(transport, "n.nc", Mode::read);
    ASSERT_EQ(in.steps(), 4u);
    for (std::uint64_t s = 0; s < 4; ++s) {
      expect_values<double>(in, "u", s, shape, whole_box(shape), s);
    }
  });
}

TEST(DimensionNames, WhatNetcdfCannotHoldIsLeftOutAndNamed) {
  LocalFiles files;
  files.run(1, [&](exec::Transport& transport) {
    File out = files.open(transport, "a.h5", Mode::write);
    const std::vector<double> values(12);
    const auto a = out.define<double>("a", {3}, {.dimensions = {"n"}});
    const auto b = out.define<double>("b", {4, 3}, {.dimensions = {"m", "n"}});
    const auto c = out.define<double>("c", {5}, {.dimensions = {"n"}});
    const auto d = out.define<double>("d", {5}, {.dimensions = {"time"}});
    const auto e = out.define<double>("e", {2}, {.steps = true});
    for (const auto& variable : {a, b, c, d}) {
      out.put(variable, values.data());
    }
    Step step = out.begin_step({.time = 1.5});
    step.put(e, values.data());
    step.end();
    out.close();
    Options options;
    options.strategy = "shared";
    const auto done = commit::convert(transport, *files.storage(), {"a.h5", "a.nc", options});
    EXPECT_EQ(done.unnamed, (Names{"c", "d"}));  // in the order of definition
    File in = files.open(transport, "a.nc", Mode::read);
    EXPECT_EQ(in.info(in.find("b")).dimensions, (Names{"m", "n"}));
    EXPECT_EQ(in.time(0), 1.5);
    File back = files.open(transport, "a.h5", Mode::read);
    EXPECT_EQ(back.info(back.find("c")).dimensions, (Names{"n"}));
  });
}

/// netCDF reads such a file wrongly; HDF5 has the names as labels, without scales.
TEST(DimensionNames, OneNameOfTwoSizesInAVariable) {
  LocalFiles files;
  files.run(1, [&](exec::Transport& transport) {
    const std::vector<double> values{0, 1, 2, 3, 4, 5};
    File out = files.open(transport, "a.h5", Mode::write);
    out.put(out.define<double>("v", {2, 3}, {.dimensions = {"x", "x"}}), values.data());
    out.put(out.define<double>("w", {2}, {.dimensions = {"x"}}), values.data());
    out.close();
    File in = files.open(transport, "a.h5", Mode::read);
    EXPECT_EQ(in.info(in.find("v")).dimensions, (Names{"x", "x"}));
    const auto file = files.storage()->open("a.h5", storage::Access::read);
    EXPECT_FALSE(is_attached_in(*file, "v"));
    EXPECT_TRUE(is_attached_in(*file, "w"));
    const auto done = commit::convert(transport, *files.storage(), {"a.h5", "a.nc", Options{}});
    EXPECT_EQ(done.unnamed, Names{"v"});
    File copy = files.open(transport, "a.nc", Mode::read);
    std::vector<double> got(6);
    copy.get(copy.find("v"), got.data());
    EXPECT_EQ(got, values);
  });
}

TEST(DimensionNames, AreNamesOfOneLine) {
  LocalFiles files;
  for (const std::string& name : {std::string(), std::string("a\0b", 3), std::string("\xff")}) {
    const Error error = files.caught(1, [&](exec::Transport& transport) {
      File out = files.open(transport, "a.h5", Mode::write);
      out.define<double>("v", {2}, {.dimensions = {name}});
    });
    EXPECT_EQ(error.code(), Code::bad_name);
    EXPECT_NE(std::string(error.what()).find("define v: dimension: "), std::string::npos);
  }
}

/// What other programs keep in CLASS and NAME (images) is theirs, but for dimension scales.
TEST(DimensionNames, AttributesOfImagesStay) {
  LocalFiles files;
  files.run(1, [&](exec::Transport& transport) {
    File out = files.open(transport, "a.h5", Mode::write);
    const float value[2] = {1, 2};
    out.put(out.define<float>("picture", {2}), value);
    out.set_attribute("picture", "CLASS", std::string("IMAGE"));
    out.close();
    File in = files.open(transport, "a.h5", Mode::read);
    EXPECT_EQ(std::get<std::string>(in.attribute("picture", "CLASS")), "IMAGE");
  });
}

}  // namespace
}  // namespace sluice::test
