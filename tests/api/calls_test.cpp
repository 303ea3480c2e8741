// What the calls of C++ take for granted: steps that are not given, definitions that come again,
// and memory that knows its size.
#include <array>
#include <functional>
#include <sluice/checkpoint.hpp>
#include <span>

#include "api/checkpoint/checkpoint_impl.hpp"
#include "codec/filter.hpp"
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

bool has_deflate() { return codec::find_method(codec::deflate_id) != nullptr; }

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
    {full_but([](auto& o) {
       o.dimensions = {"y", "z"};
     }),
     {"(y, x);", "(y, z)"}},
    {full_but([](auto& o) {
       o.chunk = {4, 3};
     }),
     {"chunk (2, 3);", "chunk (4, 3)"}},
    {full_but([](auto& o) { o.compress = "none"; }), {"compress deflate:4;", "without compress"}},
    {full_but([](auto& o) { o.steps = false; }), {"with steps;", "without steps"}},
};

TEST_F(Calls, SayHowToReadWhatIsBeingWritten) {
  alone([&](exec::Transport& transport) {
    File out = files_.open(transport, "written.h5", Mode::write);
    out.define<double>("v", {4});
    double got[4] = {};
    expect_error(thrown_by([&] { out.get(out.find("v"), got); }), Code::wrong_state,
                 {"written.h5: was opened for writing", "mode read (\"r\")"});
  });
}

TEST_F(Calls, DefineAgainWithAnotherOption) {
  if (!has_deflate()) {
    GTEST_SKIP() << "built without libdeflate";
  }
  alone([&](exec::Transport& transport) {
    for (const Change& change : changes) {
      SCOPED_TRACE(change.words.back());
      File out = files_.open(transport, "again.h5", Mode::write);
      const Variable v = out.define<double>("v", {4, 3}, full);
      expect_error(thrown_by([&] {
                     out.define<double>("v", {4, 3}, change.options);
                   }),
                   Code::exists,
                   {"again.h5: define v: exists already", change.words[0], "now it is defined",
                    change.words[1]});
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
  if (!has_deflate()) {
    GTEST_SKIP() << "built without libdeflate";
  }
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
    for (const VariableOptions& less : {VariableOptions{.steps = true}, full_but([](auto& o) {
                                          o.chunk = {1, 1};
                                        }),
                                        full_but([](auto& o) { o.unit = "m/s"; }),
                                        full_but([](auto& o) { o.compress = "deflate:1"; })}) {
      expect_error(run(Mode::append, define_v(less)), Code::ok, {});
    }
    for (const std::size_t i : {2, 4, 7}) {
      expect_error(run(Mode::append, define_v(changes[i].options)), Code::exists, changes[i].words);
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

/// A DCD file does not hold which elements may be left out.
TEST_F(Calls, DefineAgainWhatTheFormatDoesNotKeep) {
  const std::vector<float> position(6, 1);
  const std::vector<double> edge(1, 9);
  alone([&](exec::Transport& transport) {
    for (const Mode mode : {Mode::write, Mode::append}) {
      File out = files_.open(transport, "cell.dcd", mode);
      const Variable places = out.define<float>("positions", {2, 3}, {.steps = true});
      const Variable cell = out.define<double>("cell", {6}, {.steps = true, .partial = true});
      Step step = out.begin_step();
      step.put(places, position);
      step.put(cell, edge, {.start = {0}, .count = {1}});
      step.end();
      out.close();
    }
    File in = files_.open(transport, "cell.dcd", Mode::read);
    EXPECT_EQ(in.steps(), 2U);
  });
}

TEST_F(Calls, DefineAgainOtherwiseOnOneRank) {
  if (!has_deflate()) {
    GTEST_SKIP() << "built without libdeflate";
  }
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

// -- memory that knows its size -------------------------------------------------------------------

template <class R>
concept CanBePut = requires(Step& step, Variable v, R&& data) {
  step.put(v, std::forward<R>(data));
};
template <class R>
concept CanBeGot = requires(File& file, Variable v, R&& data) {
  file.get(v, std::forward<R>(data));
};
static_assert(CanBePut<std::vector<double>&> && CanBePut<const std::vector<double>&>);
static_assert(CanBePut<std::array<double, 3>&> && CanBePut<std::span<const double>>);
static_assert(CanBePut<double*> && CanBePut<double (&)[3]>);
static_assert(!CanBePut<std::vector<double>>, "it would be gone before the end of the step");
static_assert(CanBeGot<std::vector<double>&> && CanBeGot<std::span<double>>);
static_assert(!CanBeGot<const std::vector<double>&> && !CanBeGot<std::vector<double>>);

TEST_F(Calls, TakeMemoryWithItsSize) {
  files_.run(2, [&](exec::Transport& transport) {
    const std::uint64_t first = transport.rank() == 0 ? 0 : 3;
    File out = files_.open(transport, "sized.h5", Mode::write);
    const Variable line = out.define<double>("line", {5}, {.steps = true});
    const Variable plane = out.define<double>("plane", {5, 2}, {.steps = true});
    const Variable rows = out.define<float>("rows", {5, 2}, {.steps = true});
    const Variable joined = out.define<double>("joined", {5, 2}, {.steps = true, .varying = true});
    const Variable fixed = out.define<double>("fixed", {2});
    const std::vector<double> mine = first == 0 ? std::vector{0., 1., 2.} : std::vector{3., 4.};
    std::vector<double> two;
    std::vector<float> placed;
    std::vector<std::uint64_t> ids;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      two.insert(two.end(), {mine[i], -mine[i]});
      ids.push_back(4 - first - i);
      placed.insert(placed.end(), 2, static_cast<float>(ids.back()));
    }
    Step step = out.begin_step();
    step.put(line, mine, {.start = {first}});
    step.put(plane, std::span(two), {.start = {first, 0}, .count = {mine.size(), 2}});
    step.put_rows(rows, ids, placed);
    step.put_joined(joined, two);
    const std::array<double, 2> both = {7, 8};
    if (transport.rank() == 0) {
      out.put(fixed, both);
    }
    step.end();
    out.close();

    File in = files_.open(transport, "sized.h5", Mode::read);
    std::vector<double> got(mine.size());
    in.get(in.find("line"), got, {.start = {first}});
    EXPECT_EQ(got, mine);
    std::vector<double> ghosts(4 * 4, 9);
    in.defer_get(
        in.find("plane"), ghosts,
        {.start = {first, 0}, .count = {2, 2}, .memory_shape = {4, 4}, .memory_start = {1, 1}});
    in.perform_gets();
    EXPECT_EQ(ghosts[5], mine[0]);
    EXPECT_EQ(ghosts[6], -mine[0]);
    EXPECT_EQ(ghosts[7], 9);
    std::vector<float> back(placed.size());
    in.get_rows(in.find("rows"), ids, std::span(back));
    EXPECT_EQ(back, placed);
    std::vector<double> all(10);
    in.get(in.find("joined"), all);
    EXPECT_EQ(all[8], 4);
    in.get(in.find("fixed"), std::span(all).first(2));
    EXPECT_EQ(all[0], 7);
  });
}

TEST_F(Calls, RefuseToPutMemoryOfAnotherSize) {
  alone([&](exec::Transport& transport) {
    File out = files_.open(transport, "wrong.h5", Mode::write);
    const Variable line = out.define<double>("line", {5}, {.steps = true});
    const Variable plane = out.define<double>("plane", {5, 2}, {.steps = true, .varying = true});
    const Variable fixed = out.define<double>("fixed", {2});
    const std::vector<double> three(3);
    const std::vector<std::uint64_t> ids = {0, 1};
    struct Case {
      std::function<void(Step&)> call;
      std::vector<std::string> words;
    };
    const std::vector<Case> cases = {
        {[&](Step& s) { s.put(line, three); }, {"put line", "3 elements", "(5)", "give the count"}},
        {[&](Step& s) { s.put(line, three, {.start = {0}, .count = {4}}); }, {"3 elem", "(4)"}},
        {[&](Step& s) {
           s.put(plane, three, {.start = {3, 0}});
         },
         {"3 elements", "(2, 2)"}},
        {[&](Step& s) {
           s.put(
               plane, three,
               {.start = {0, 0}, .count = {1, 2}, .memory_shape = {2, 2}, .memory_start = {0, 0}});
         },
         {"3 elements", "memory_shape (2, 2)"}},
        {[&](Step& s) { s.put_rows(plane, ids, three); },
         {"put_rows plane", "3 elements", "2 rows have 2 each"}},
        {[&](Step& s) { s.put_joined(plane, three); }, {"put_joined plane", "no whole rows of 2"}},
        {[&](Step&) { out.put(fixed, three); }, {"put fixed", "3 elements"}},
        {[&](Step&) { out.put_rows(fixed, ids, three); }, {"put_rows fixed", "3 elements"}},
    };
    for (const Case& one : cases) {
      SCOPED_TRACE(one.words[0]);
      Step step = out.begin_step();
      expect_error(thrown_by([&] { one.call(step); }), Code::invalid_argument, one.words);
      expect_error(thrown_by([&] { step.end(); }), Code::invalid_argument, one.words);
    }
    const std::uint64_t many = 1ULL << 33;
    for (const Selection& no_part : {Selection{.start = Shape(9), .count = Shape(9, 1)},
                                     Selection{.start = {0, 0}, .count = {many, many}}}) {
      Step step = out.begin_step();
      EXPECT_NE(thrown_by([&] { step.put(plane, three, no_part); }).code(), Code::ok);
      EXPECT_NE(thrown_by([&] { step.end(); }).code(), Code::ok);
    }
    Step step = out.begin_step();
    expect_error(thrown_by([&] { step.put(line, three, {.start = {4}}); }), Code::out_of_bounds,
                 {"line"});
    expect_error(thrown_by([&] { step.end(); }), Code::out_of_bounds, {});
    EXPECT_EQ(out.steps(), 0u);
  });
}

TEST_F(Calls, RefuseToReadIntoMemoryOfAnotherSizeOnEveryRank) {
  files_.run(2, [&](exec::Transport& transport) {
    File out = files_.open(transport, "short.h5", Mode::write);
    const Variable line = out.define<double>("line", {4});
    const std::vector<double> half(2, transport.rank());
    out.put(line, half, {.start = {2ULL * transport.rank()}});
    out.close();
    File in = files_.open(transport, "short.h5", Mode::read);
    const Variable v = in.find("line");
    // Without a start the whole variable is meant.
    std::vector<double> part(transport.rank() == 1 ? 3 : 4, 9);
    const std::vector<std::uint64_t> ids = {0, 1, 2, 3};
    const std::vector<std::string> words = {"rank 1", "line", "3 elements"};
    expect_error(thrown_by([&] { in.get(v, part); }), Code::invalid_argument, words);
    expect_error(thrown_by([&] { in.get_rows(v, ids, part); }), Code::invalid_argument, words);
    const Error deferred = thrown_by([&] { in.defer_get(v, part); });
    EXPECT_EQ(deferred.code(), transport.rank() == 1 ? Code::invalid_argument : Code::ok);
    expect_error(thrown_by([&] { in.perform_gets(); }), Code::invalid_argument, words);
    EXPECT_EQ(part, std::vector<double>(part.size(), 9));
    in.get(v, std::span(part).first(2), {.start = {1}});
    EXPECT_EQ(part[1], 1);
  });
}

TEST_F(Calls, RegisterMemoryWithItsSizeForACheckpoint) {
  alone([&](exec::Transport& transport) {
    const auto open = [&] {
      return Checkpoint(std::make_unique<detail::CheckpointImpl>(transport, files_.storage(),
                                                                 "state.h5", CheckpointOptions{}));
    };
    std::vector<double> line = {1, 2, 3};
    std::vector<float> rows = {1, 2, 3, 4};
    const std::vector<std::uint64_t> ids = {1, 0};
    for (const bool saves : {true, false}) {
      Checkpoint state = open();
      expect_error(thrown_by([&] { state.array("line", line, {4}); }), Code::invalid_argument,
                   {"checkpoint: line", "3 elements", "(4)"});
      expect_error(thrown_by([&] {
                     state.rows("rows", ids, rows, {2, 3});
                   }),
                   Code::invalid_argument, {"checkpoint: rows", "4 elements", "3 each"});
      state.array("line", line, {3}, {.start = {0}});
      state.rows("rows", ids, rows, {2, 2});
      if (saves) {
        state.save(0);
        line.assign(3, 0);
        rows.assign(4, 0);
      } else {
        EXPECT_TRUE(state.restore());
      }
      state.close();
    }
    EXPECT_EQ(line, (std::vector<double>{1, 2, 3}));
    EXPECT_EQ(rows, (std::vector<float>{1, 2, 3, 4}));
    // What grows is registered again; wrongly, it is not saved from where it was.
    Checkpoint state = open();
    state.array("line", line, {3});
    state.rows("rows", ids, rows, {2, 2});
    line.resize(5000);
    expect_error(thrown_by([&] { state.array("line", line, {3}); }), Code::invalid_argument,
                 {"checkpoint: line", "5000 elements"});
    const Saved failed = state.save(1);
    EXPECT_FALSE(failed);
    EXPECT_NE(failed.why.find("5000 elements"), std::string::npos) << failed.why;
    line.resize(3);
    state.array("line", line, {3});
    EXPECT_TRUE(state.save(2));
    state.close();
  });
}

}  // namespace
}  // namespace sluice::test
