// The list of formats: the format of a path and options, and what each refuses.
#include "layout/formats/formats.hpp"

#include <numeric>

#include "layout/formats/stores.hpp"
#include "layout/local_files.hpp"
#include "layout/openpmd/attributes.hpp"

namespace sluice::test {
namespace {

Options options_of(const std::string& format, const std::string& form = "stacked") {
  Options options;
  options.format = format;
  options.hdf5_layout = form;
  options.durability = Durability::none;
  return options;
}

TEST(Formats, ByTheEndingOfThePath) {
  const std::vector<std::pair<std::string, std::string>> expected{{"a.h5", "hdf5"},
                                                                  {"a", "hdf5"},
                                                                  {"a.dat", "hdf5"},
                                                                  {"a.nc", "netcdf4"},
                                                                  {"dir/a.nc4", "netcdf4"},
                                                                  {"a.b.cdf", "netcdf4"},
                                                                  {"a.npy", "npy"},
                                                                  {"dir.npy/a", "hdf5"},
                                                                  {"a.nc/b.h5", "hdf5"},
                                                                  {"nc", "hdf5"},
                                                                  {"a.rec", "records"},
                                                                  {".npy", "npy"},
                                                                  {"a.", "hdf5"},
                                                                  {"a.zarr/", "zarr"},
                                                                  {"s3://b/a.zarr//", "zarr"},
                                                                  {"a.icechunk/", "icechunk"},
                                                                  {"/", "hdf5"}};
  for (const auto& [path, name] : expected) {
    EXPECT_EQ(layout::format_of(path, options_of("auto")).name, name) << path;
  }
}

TEST(Formats, ByTheOption) {
  EXPECT_STREQ(layout::format_of("a.npy", options_of("hdf5")).name, "hdf5");
  EXPECT_STREQ(layout::format_of("a.h5", options_of("netcdf4")).name, "netcdf4");
  EXPECT_STREQ(layout::format_of("a.h5", options_of("auto", "grouped")).name, "hdf5-grouped");
  expect_error(
      thrown_by([] { layout::format_of("a", options_of("hdf6")); }), Code::invalid_argument,
      {"hdf6", "auto, hdf5, netcdf4, vtkhdf, openpmd, npy, zarr, icechunk, dcd, namdbin, records"});
  expect_error(thrown_by([] { layout::format_of("a", options_of("hdf5", "heaped")); }),
               Code::invalid_argument, {"heaped", "stacked", "grouped"});
  for (const char* format : {"netcdf4", "npy", "zarr", "records"}) {
    expect_error(thrown_by([&] { layout::format_of("a", options_of(format, "grouped")); }),
                 Code::unsupported, {format, "grouped", "hdf5"});
  }
}

TEST(Formats, EveryRowIsFoundByItsName) {
  for (const layout::Format* row : layout::formats()) {
    const layout::Format& format = *row;
    EXPECT_EQ(&layout::format_named(format.name), &format);
    EXPECT_EQ(&layout::format_of("x", options_of(format.option, format.hdf5_layout)), &format);
  }
}

TEST(Formats, DurabilityIsTheBestUnlessMoreIsAskedFor) {
  const auto& hdf5 = layout::format_named("hdf5");
  const auto& dcd = layout::format_named("dcd");
  EXPECT_EQ(layout::durability_of(hdf5, Durability::automatic), Durability::step);
  EXPECT_EQ(layout::durability_of(dcd, Durability::automatic), Durability::close);
  EXPECT_EQ(layout::durability_of(dcd, Durability::none), Durability::none);
  expect_error(thrown_by([&] { layout::durability_of(dcd, Durability::step); }), Code::unsupported,
               {"dcd", "close", "hdf5"});
}

/// Opens `path` with 3 ranks and calls `work` on each; all must throw the same error.
Error refused(const std::string& path, const Options& options,
              const std::function<void(File&)>& work) {
  LocalFiles files;
  std::vector<Error> errors(3, Error(Code::ok, ""));
  files.run(3, [&](exec::Transport& transport) {
    auto& mine = errors[static_cast<std::size_t>(transport.rank())];
    mine = thrown_by([&] {
      File out = files.open(transport, path, Mode::write, options);
      mine = thrown_by([&] { work(out); });
      if (mine.code() != Code::ok) {
        throw mine;
      }
      out.close();
    });
  });
  // A local error names the rank; the rest is the same for all.
  const auto said = [](const Error& error) {
    const std::string text = error.what();
    return text.starts_with("rank ") ? text.substr(text.find(": ")) : text;
  };
  for (const Error& error : errors) {
    EXPECT_EQ(said(error), said(errors[0]));
  }
  return errors[0];
}

TEST(Formats, NpyRefusesWhatItHasNoPlaceFor) {
  const Options options = options_of("auto");
  expect_error(refused("a.npy", options,
                       [](File& out) {
                         out.define<double>("a", {3});
                         out.define<double>("b", {3});
                       }),
               Code::unsupported, {"define b", "npy", "one variable", "use format hdf5"});
  expect_error(refused("a.npy", options,
                       [](File& out) { out.set_attribute("", "title", std::string("x")); }),
               Code::unsupported, {"attribute title", "npy", "use format"});
  expect_error(
      refused("a.npy", options, [](File& out) { out.define<double>("a", {3}, {.unit = "m"}); }),
      Code::unsupported, {"attribute units", "npy"});
  expect_error(refused("a.npy", options,
                       [](File& out) {
                         out.define<double>("a", {3}, {.steps = true});
                         static_cast<void>(out.begin_step({.time = 1.0}));
                       }),
               Code::unsupported, {"begin_step", "npy", "times"});
  expect_error(
      refused("a.npy", options,
              [](File& out) { out.define<double>("a", {3}, {.steps = true, .chunk = {1}}); }),
      Code::unsupported, {"chunk", "npy", "one piece"});
  expect_error(
      refused("a.npy", options,
              [](File& out) { out.define<double>("a", {3}, {.steps = true, .varying = true}); }),
      Code::unsupported, {"npy", "same shape"});
  expect_error(refused("a.npy", options, [](File&) {}), Code::unsupported, {"npy", "no variable"});
  expect_error(refused("a.npy", options,
                       [](File& out) {
                         out.define<double>("a", {3});
                         out.begin_step().end();
                       }),
               Code::unsupported, {"npy", "step"});
}

TEST(Formats, NetcdfRefusesComplexNumbers) {
  expect_error(refused("a.nc", options_of("auto"),
                       [](File& out) { out.define<std::complex<double>>("psi", {3}); }),
               Code::unsupported, {"define psi", "netcdf4", "complex", "hdf5"});
}

TEST(Formats, GroupedKeepsTheNamesOfSteps) {
  expect_error(refused("a.h5", options_of("hdf5", "grouped"),
                       [](File& out) { out.define<double>("step_000001", {3}); }),
               Code::bad_name, {"step_", "choose another"});
}

TEST(Formats, OpenpmdNumbersIterationsFromZeroOn) {
  const auto refusal = [](const char* name, const model::AttributeValue& value) {
    return layout::openpmd::refuse_attribute({"time", name, value});
  };
  using Large = std::vector<std::int64_t>;
  using Small = std::vector<std::int32_t>;
  const std::string words = "numbers iterations by integers from 0 on";
  for (const char* name : {"iteration", "iterations"}) {
    EXPECT_EQ(refusal(name, std::int64_t{0}), "");
    EXPECT_EQ(refusal(name, std::int32_t{7}), "");
    EXPECT_EQ(refusal(name, std::int64_t{-1}), words);
    EXPECT_EQ(refusal(name, std::int32_t{-1}), words);
    EXPECT_EQ(refusal(name, 1.0), words);
  }
  EXPECT_EQ(refusal("iterations", Large{0, 50, 120}), "");
  EXPECT_EQ(refusal("iterations", Small{0, 50, 120}), "");
  EXPECT_EQ(refusal("iterations", Large{-1}), words);
  EXPECT_EQ(refusal("iterations", Large{0, 50, -120}), words);
  EXPECT_EQ(refusal("iterations", Small{0, -50}), words);
  EXPECT_EQ(refusal("iteration", Large{0}), words);
}

/// However often it is tried.
TEST(Formats, WhatWasCommittedIsNotWrittenAgain) {
  for (const char* path : {"v.h5", "v.nc", "v.zarr", "v.npy", "v.coor"}) {
    LocalFiles files;
    int refused = 0;
    files.run(1, [&](exec::Transport& transport) {
      File out = files.open(transport, path, Mode::write);
      const auto v = out.define<double>("v", {2, 3});
      for (const double value : {1.0, 2.0, 3.0}) {
        const std::vector<double> values(6, value);
        out.put(v, values.data());
        try {
          out.flush();
        } catch (const Error& e) {
          EXPECT_EQ(e.code(), Code::unsupported) << e.what();
          ++refused;
        }
      }
    });
    EXPECT_EQ(refused, 2) << path;
    files.run(1, [&](exec::Transport& transport) {
      File in = files.open(transport, path, Mode::read);
      std::vector<double> values(6);
      in.get(in.find("v"), values.data());
      EXPECT_EQ(values, std::vector<double>(6, 1.0)) << path;
    });
  }
}

TEST(Formats, AFileIsWhatItsFirstBytesSay) {
  LocalFiles files;
  files.run(1, [&](exec::Transport& transport) {
    for (const layout::Format* row : layout::formats()) {
      const layout::Format& format = *row;
      if (format.has_grammar) {
        continue;  // layout/trajectories
      }
      const std::string path = std::string("file.") + format.name;
      const Options options = options_of(format.option, format.hdf5_layout);
      File out = files.open(transport, path, Mode::write, options);
      const auto v = out.define<std::int32_t>("v", {4});
      const std::int32_t values[] = {1, 2, 3, 4};
      out.put(v, values);
      out.close();
      const auto file = layout::open_data(*files.storage(), path, storage::Access::read);
      const layout::Format& found = layout::format_in(*file, "auto");
      EXPECT_STREQ(found.option, format.reader().option);  // netcdf4 and vtkhdf are HDF5
      EXPECT_STREQ(layout::open_catalog(found, *file)->format(), format.name);
      File in = files.open(transport, path, Mode::read);
      std::int32_t got[4] = {};
      in.get(in.find("v"), got);
      EXPECT_TRUE(std::equal(got, got + 4, values));
    }
    Options wrong = options_of("npy");
    expect_error(thrown_by([&] { files.open(transport, "file.hdf5", Mode::read, wrong); }),
                 Code::format, {"file.hdf5", "hdf5", "not npy"});
    files.put_text("text.txt", "no data at all");
    expect_error(thrown_by([&] { files.open(transport, "text.txt", Mode::read); }), Code::format,
                 {"text.txt", "not an HDF5 file"});
    expect_error(thrown_by([&] {
                   files.open(transport, "file.hdf5", Mode::append, options_of("hdf5", "grouped"));
                 }),
                 Code::unsupported, {"grouped", "stacked"});
  });
}

TEST(Formats, AttributesOfAnyLengthAreReadBack) {
  LocalFiles files;
  files.run(1, [&](exec::Transport& transport) {
    for (const layout::Format* row : layout::formats()) {
      const layout::Format& format = *row;
      if (format.has_grammar || !format.attributes || format.is_store()) {
        continue;  // the documents of stores take seconds
      }
      const std::string path = std::string("long.") + format.name;
      std::vector<double> values((1 << 20) + 1);
      std::iota(values.begin(), values.end(), 0.5);
      const std::string text(1 << 20, 'x');
      File out =
          files.open(transport, path, Mode::write, options_of(format.option, format.hdf5_layout));
      const auto v = out.define<double>("v", {1});
      out.put(v, values.data());
      out.set_attribute("", "many", values);
      out.set_attribute("v", "many", values);
      out.set_attribute("v", "text", text);
      out.close();
      File in = files.open(transport, path, Mode::read);
      EXPECT_TRUE(in.attribute("", "many") == Value(values)) << format.name;
      EXPECT_TRUE(in.attribute("v", "many") == Value(values)) << format.name;
      EXPECT_TRUE(in.attribute("v", "text") == Value(text)) << format.name;
    }
  });
}

}  // namespace
}  // namespace sluice::test
