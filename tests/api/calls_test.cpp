// What the calls of C++ take for granted: steps that are not given, definitions that come again,
// and memory that knows its size.
#include <sluice/checkpoint.hpp>

#include "layout/local_files.hpp"
#include "support/errors.hpp"

namespace sluice::test {
namespace {

class Calls : public testing::Test {
 protected:
  template <class Body>
  void alone(Body&& body) {
    files_.run(1, [&](exec::Transport& transport) { body(transport); });
  }

  LocalFiles files_;
};

TEST_F(Calls, ReadTheNewestStepUnlessOneIsGiven) {
  alone([&](exec::Transport& transport) {
    File out = files_.open(transport, "steps.h5", Mode::write);
    const Variable v = out.define<double>("v", {4}, {.steps = true, .varying = true});
    const Variable fixed = out.define<double>("fixed", {});
    const std::vector<double> values = {1, 2, 3, 4};
    out.put(fixed, values.data());
    out.flush();
    File in = files_.open(transport, "steps.h5", Mode::read);
    double got[4] = {};
    const std::uint64_t id = 0;
    in.get(in.find("fixed"), got);
    EXPECT_EQ(got[0], 1);
    expect_error(thrown_by([&] { in.get(in.find("v"), got); }), Code::out_of_bounds,
                 {"there is no step yet"});
    expect_error(thrown_by([&] { static_cast<void>(in.time()); }), Code::out_of_bounds, {});
    for (std::uint64_t s = 0; s < 3; ++s) {
      Step step = out.begin_step({.time = static_cast<double>(s)});
      step.put_joined(v, &values[s], 2);
      step.end();
    }
    in.refresh();
    const Variable read = in.find("v");
    EXPECT_EQ(in.shape(read), (Shape{2}));
    EXPECT_EQ(in.shape(read, last_step), (Shape{2}));
    EXPECT_EQ(in.time(), 2);
    in.get(read, got);
    EXPECT_EQ(got[0], 3);
    in.get(read, got, {}, 0);
    EXPECT_EQ(got[0], 1);
    in.get_rows(read, &id, 1, got);
    EXPECT_EQ(got[0], 3);
    in.defer_get(read, got, {.start = {1}, .count = {1}});
    in.perform_gets();
    EXPECT_EQ(got[0], 4);
  });
}

// -- definitions ----------------------------------------------------------------------------------

const VariableOptions full = {.steps = true,
                              .unit = "m",
                              .description = "height",
                              .partial = true,
                              .fill = -1.0,
                              .dimensions = {"y", "x"},
                              .chunk = {2, 3},
                              .compress = "deflate:4"};

VariableOptions full_but(const std::function<void(VariableOptions&)>& change) {
  VariableOptions options = full;
  change(options);
  return options;
}

struct Change {
  VariableOptions options;
  std::vector<std::string> words;  ///< of the error
};

const std::vector<Change> changes = {
    {full_but([](auto& o) { o.unit = "km"; }), {"with unit m;", "with unit km"}},
    {full_but([](auto& o) { o.description = "depth"; }), {"description height;", "depth"}},
    {full_but([](auto& o) { o.fill = -2.0; }), {"with fill -1.0;", "with fill -2.0"}},
    {full_but([](auto& o) { o.partial = false; }), {"as partial;", "as not partial"}},
    {full_but([](auto& o) { o.dimensions = {"y", "z"}; }), {"(y, x);", "(y, z)"}},
    {full_but([](auto& o) { o.chunk = {4, 3}; }), {"chunk (2, 3);", "chunk (4, 3)"}},
    {full_but([](auto& o) { o.compress = "none"; }), {"compress deflate:4;", "without compress"}},
    {full_but([](auto& o) { o.steps = false; }), {"with steps;", "without steps"}},
};

TEST_F(Calls, DefineAgainWithAnotherOption) {
  alone([&](exec::Transport& transport) {
    for (const Change& change : changes) {
      SCOPED_TRACE(change.words.back());
      File out = files_.open(transport, "again.h5", Mode::write);
      const Variable v = out.define<double>("v", {4, 3}, full);
      expect_error(thrown_by([&] { out.define<double>("v", {4, 3}, change.options); }),
                   Code::exists, {"again.h5: define v: exists already", change.words[0],
                                  "now it is defined", change.words[1]});
      EXPECT_EQ(thrown_by([&] { out.close(); }).code(), Code::exists);
      static_cast<void>(v);
    }
    File out = files_.open(transport, "again.h5", Mode::write, {.compress = "deflate:1"});
    const Variable v = out.define<double>("v", {4, 3}, full);
    // What is not given is as before.
    for (const auto& less : {full, VariableOptions{.steps = true, .partial = true, .fill = -1.0}}) {
      EXPECT_EQ(out.define<double>("v", {4, 3}, less).index(), v.index());
    }
    const Variable bare = out.define<double>("bare", {4096}, {.compress = "none"});
    EXPECT_EQ(out.define<double>("bare", {4096}).index(), bare.index());
    expect_error(thrown_by([&] { out.define<double>("bare", {4096}, {.unit = "m"}); }),
                 Code::exists, {"without unit", "unit m"});
    EXPECT_EQ(thrown_by([&] { out.close(); }).code(), Code::exists);
  });
}

TEST_F(Calls, DefineAgainAfterReopening) {
  const std::vector<double> values(12, 1);
  struct Kind {
    std::string path;
    std::string strategy = "auto";
  };
  for (const Kind& kind : std::vector<Kind>{
           {"a.h5"}, {"a.nc"}, {"a.zarr"}, {"a.icechunk"}, {"set.h5", "file-per-process"}}) {
    SCOPED_TRACE(kind.path);
    const Options options{.strategy = kind.strategy};
    const auto run = [&](Mode mode, const std::function<void(File&)>& define) {
      return files_.caught(1, [&](exec::Transport& transport) {
        File out = files_.open(transport, kind.path, mode, options);
        define(out);
        Step step = out.begin_step();
        step.put(out.find("v"), values.data());
        step.put(out.find("rounded"), values.data());
        step.end();
        out.set_attribute("v", "units", "cm");
        out.close();
      });
    };
    const VariableOptions rounded = {.steps = true, .compress = "digits:3+deflate:4"};
    const auto define_all = [&](File& out) {
      out.define<double>("v", {4, 3}, full);
      out.define<double>("rounded", {12}, rounded);
    };
    const auto define_v = [](const VariableOptions& v) {
      return [v](File& out) { out.define<double>("v", {4, 3}, v); };
    };
    expect_error(run(Mode::write, define_all), Code::ok, {});
    expect_error(run(Mode::append, define_all), Code::ok, {});
    // The file's own stay.
    for (const VariableOptions& less :
         {VariableOptions{.steps = true}, full_but([](auto& o) { o.chunk = {1, 1}; }),
          full_but([](auto& o) { o.unit = "m/s"; }),
          full_but([](auto& o) { o.compress = "deflate:1"; })}) {
      expect_error(run(Mode::append, define_v(less)), Code::ok, {});
    }
    for (const std::size_t i : {2, 4, 7}) {
      expect_error(run(Mode::append, define_v(changes[i].options)), Code::exists,
                   changes[i].words);
    }
    if (kind.strategy == "auto") {  // an index does not tell
      expect_error(run(Mode::append,
                       [&](File& out) {
                         out.define<double>("rounded", {12}, {.steps = true, .compress = "none"});
                       }),
                   Code::exists, {"rounded", "digits:3+", "without compress"});
    }
  }
}

TEST_F(Calls, DefineAgainOtherwiseOnOneRank) {
  const std::vector<double> values(12, 1);
  const auto run = [&](Mode mode, bool differs) {
    return files_.caught(2, [&](exec::Transport& transport) {
      File out = files_.open(transport, "ranks.h5", mode, {.strategy = "file-per-process"});
      const bool compresses = differs && transport.rank() == 1;
      const Variable v = out.define<double>(
          "v", {4, 3}, {.steps = true, .compress = compresses ? "deflate:1" : ""});
      Step step = out.begin_step();
      if (transport.rank() == 0) {
        step.put(v, values.data());
      }
      step.end();
      out.close();
    });
  };
  expect_error(run(Mode::write, false), Code::ok, {});
  expect_error(run(Mode::append, false), Code::ok, {});
  expect_error(run(Mode::append, true), Code::divergent,
               {"rank 1 gave v of the existing file compress deflate:1, rank 0 did not"});
}

TEST_F(Calls, StoreTheAttributesAndTimesOfRank0) {
  for (const std::string strategy : {"shared", "forward", "file-per-process"}) {
    SCOPED_TRACE(strategy);
    const auto clock = [](exec::Transport& transport) { return 10.0 + transport.rank(); };
    files_.run(3, [&](exec::Transport& transport) {
      File out = files_.open(transport, "clock.h5", Mode::write, {.strategy = strategy});
      const std::string unit = "unit of " + std::to_string(transport.rank());
      const Variable v = out.define<double>("v", {3}, {.steps = true, .unit = unit});
      out.set_attribute("", "written", clock(transport));
      const double value = 1;
      Step step = out.begin_step({.time = clock(transport)});
      step.put_value(v, value, {static_cast<std::uint64_t>(transport.rank())});
      step.end();
      out.close();
    });
    files_.run(2, [&](exec::Transport& transport) {
      File in = files_.open(transport, "clock.h5", Mode::read);
      EXPECT_EQ(in.time(), 10);
      EXPECT_EQ(std::get<double>(in.attribute("", "written")), 10);
      EXPECT_EQ(std::get<std::string>(in.attribute("v", "units")), "unit of 0");
    });
  }
}

}  // namespace
}  // namespace sluice::test
