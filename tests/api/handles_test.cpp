// Handles that cannot be used: moved from, ended, or without their file. An Error, never a crash.
#include <optional>
#include <sluice/records.hpp>
#include <sluice/session.hpp>
#include <stdexcept>

#include "api/records/records_impl.hpp"
#include "api/session/session_impl.hpp"
#include "layout/local_files.hpp"
#include "support/errors.hpp"

namespace sluice::test {
namespace {

class Handles : public testing::Test {
 protected:
  template <class Body>
  void alone(Body&& body) {
    files_.run(1, [&](exec::Transport& transport) { body(transport); });
  }

  LocalFiles files_;
  const double value_ = 1;
};

TEST_F(Handles, AFileThatWasMovedFrom) {
  alone([&](exec::Transport& transport) {
    File from = files_.open(transport, "moved.h5", Mode::write);
    const Variable v = from.define<double>("v", {}, {.steps = true});
    File to = std::move(from);
    double got = 0;
    const std::vector<std::function<void()>> calls = {
        [&] { from.define<double>("w", {}); },
        [&] { from.set_attribute("", "a", true); },
        [&] { static_cast<void>(from.begin_step()); },
        [&] { from.put(v, &value_); },
        [&] { from.put_value(v, value_, {}); },
        [&] { from.put_rows<double>(v, nullptr, 0, nullptr); },
        [&] { from.flush(); },
        [&] { from.poll(); },
        [&] { from.drain(0); },
        [&] { from.close(); },
        [&] { static_cast<void>(from.steps()); },
        [&] { static_cast<void>(from.time(0)); },
        [&] { static_cast<void>(from.variables()); },
        [&] { static_cast<void>(from.find("v")); },
        [&] { static_cast<void>(from.info(v)); },
        [&] { static_cast<void>(from.shape(v, 0)); },
        [&] { static_cast<void>(from.has_attribute("", "a")); },
        [&] { static_cast<void>(from.attribute("", "a")); },
        [&] { static_cast<void>(from.attribute_names("")); },
        [&] { from.refresh(); },
        [&] { static_cast<void>(from.latest_good()); },
        [&] { from.get(v, &got); },
        [&] { from.defer_get(v, &got); },
        [&] { from.perform_gets(); },
        [&] { from.get_rows<double>(v, nullptr, 0, nullptr); },
    };
    for (std::size_t i = 0; i < calls.size(); ++i) {
      SCOPED_TRACE(i);
      expect_error(thrown_by(calls[i]), Code::wrong_state, {"moved from"});
    }
    Step step = to.begin_step();
    step.put(v, &value_);
    step.end();
    to.close();
  });
}

TEST_F(Handles, AStepThatWasMovedFromOrHasEnded) {
  alone([&](exec::Transport& transport) {
    File out = files_.open(transport, "step.h5", Mode::write);
    const Variable v = out.define<double>("v", {}, {.steps = true});
    Step from = out.begin_step();
    Step to = std::move(from);
    const auto refuses = [&](Step& step) {
      expect_error(thrown_by([&] { step.put(v, &value_); }), Code::wrong_state, {"put: "});
      expect_error(thrown_by([&] { step.put_value(v, value_, {}); }), Code::wrong_state, {"put: "});
      expect_error(thrown_by([&] { step.put_rows<double>(v, nullptr, 0, nullptr); }),
                   Code::wrong_state, {"put_rows: "});
      expect_error(thrown_by([&] { step.resize(v, 1); }), Code::wrong_state, {"resize: "});
      expect_error(thrown_by([&] { step.end(); }), Code::wrong_state, {"end: "});
      expect_error(thrown_by([&] { step.abandon(); }), Code::wrong_state, {"abandon: "});
    };
    refuses(from);
    to.put(v, &value_);
    to.end();
    refuses(to);
    out.close();
  });
}

TEST_F(Handles, AStepThatOutlivesItsFile) {
  alone([&](exec::Transport& transport) {
    std::optional<File> out = files_.open(transport, "gone.h5", Mode::write);
    const Variable v = out->define<double>("v", {}, {.steps = true});
    Step step = out->begin_step();
    out.reset();
    expect_error(thrown_by([&] { step.put(v, &value_); }), Code::wrong_state, {"destroyed"});
    expect_error(thrown_by([&] { step.end(); }), Code::wrong_state, {"destroyed"});
  });
}

TEST_F(Handles, AVariableOfAnotherFileIsRefusedWhereItIsWritten) {
  alone([&](exec::Transport& transport) {
    std::optional<File> other = files_.open(transport, "other.h5", Mode::write);
    const Variable foreign = other->define<double>("v", {2}, {.steps = true, .varying = true});
    File out = files_.open(transport, "mine.h5", Mode::write);
    const Variable v = out.define<double>("v", {2}, {.steps = true, .varying = true});
    const Variable fixed = out.define<double>("f", {});
    const double values[] = {1, 2};
    const std::uint64_t ids[] = {0, 1};
    const std::vector<std::function<void(Step&)>> calls = {
        [&](Step& step) { step.put(foreign, values); },
        [&](Step& step) { step.put(foreign, values, {.start = {0}, .count = {2}}); },
        [&](Step& step) { step.put_value(foreign, values[0], {0}); },
        [&](Step& step) { step.put_rows(foreign, ids, 2, values); },
        [&](Step& step) { step.put_joined(foreign, values, 2); },
        [&](Step& step) { step.resize(foreign, 1); },
        [&](Step&) { out.put(foreign, values); },
        [&](Step&) { out.put_value(foreign, values[0], {0}); },
        [&](Step&) { out.put_rows(foreign, ids, 2, values); },
    };
    for (std::size_t i = 0; i < calls.size(); ++i) {
      SCOPED_TRACE(i);
      Step step = out.begin_step();
      step.put(v, values);
      expect_error(thrown_by([&] { calls[i](step); }), Code::invalid_argument,
                   {"mine.h5", "another file, other.h5"});
      expect_error(thrown_by([&] { step.end(); }), Code::invalid_argument, {"other.h5"});
    }
    expect_error(thrown_by([&] { out.info(foreign); }), Code::invalid_argument,
                 {"mine.h5: info: ", "other.h5"});
    other.reset();
    EXPECT_EQ(out.steps(), 0u);
    Step step = out.begin_step();
    expect_error(thrown_by([&] { step.put(foreign, values); }), Code::invalid_argument,
                 {"no longer open"});
    expect_error(thrown_by([&] { step.end(); }), Code::invalid_argument, {"no longer open"});
    // Those of a file that was moved stay its own.
    File moved = std::move(out);
    Step last = moved.begin_step();
    last.put(moved.find("v"), values);
    moved.put(fixed, values);
    last.end();
    EXPECT_EQ(moved.steps(), 1u);
  });
}

TEST_F(Handles, AVariableOfAnotherFileIsRefusedWhereItIsRead) {
  files_.run(2, [&](exec::Transport& transport) {
    for (const std::string path : {"a.h5", "b.h5"}) {
      File out = files_.open(transport, path, Mode::write);
      const double value = 1;
      const std::uint64_t row = static_cast<std::uint64_t>(transport.rank());
      out.put_rows(out.define<double>("v", {2}), &row, 1, &value);
      out.close();
    }
    File other = files_.open(transport, "a.h5", Mode::read);
    File in = files_.open(transport, "b.h5", Mode::read);
    const Variable v = in.find("v");
    // One rank is wrong, and no rank waits for it.
    const Variable given = transport.rank() == 1 ? other.find("v") : v;
    double got[2] = {};
    const std::uint64_t ids[] = {0, 1};
    const std::vector<std::string> words = {"rank 1", "b.h5", "another file, a.h5"};
    expect_error(thrown_by([&] { in.get(given, got); }), Code::invalid_argument, words);
    expect_error(thrown_by([&] { in.get_rows(given, ids, 2, got); }), Code::invalid_argument,
                 words);
    const Error deferred = thrown_by([&] { in.defer_get(given, got); });
    EXPECT_EQ(deferred.code(), transport.rank() == 1 ? Code::invalid_argument : Code::ok);
    expect_error(thrown_by([&] { in.perform_gets(); }), Code::invalid_argument, words);
    EXPECT_EQ(got[0], 0);
    if (transport.rank() == 1) {
      expect_error(thrown_by([&] { in.shape(given, 0); }), Code::invalid_argument,
                   {"b.h5: shape: ", "a.h5"});
      expect_error(thrown_by([&] { in.info(given); }), Code::invalid_argument, {"a.h5"});
    }
    in.refresh();
    in.get(v, got);
    EXPECT_EQ(got[1], 1);
  });
}

TEST_F(Handles, ACloseInAStepNamesItAndLeavesTheFileOpen) {
  alone([&](exec::Transport& transport) {
    File out = files_.open(transport, "early.h5", Mode::write);
    const Variable v = out.define<double>("v", {}, {.steps = true});
    Step step = out.begin_step();
    step.put(v, &value_);
    expect_error(thrown_by([&] { out.close(); }), Code::wrong_state, {"step 0", "end it first"});
    EXPECT_EQ(step.end().step(), 0u);
    out.close();
  });
}

TEST_F(Handles, APathThatNoFileCanHave) {
  alone([&](exec::Transport& transport) {
    const std::string with_nul("a\0b", 3);
    for (const Mode mode : {Mode::write, Mode::read}) {
      expect_error(thrown_by([&] { files_.open(transport, with_nul, mode); }), Code::bad_name,
                   {"NUL"});
      expect_error(thrown_by([&] { files_.open(transport, "", mode); }), Code::bad_name, {"empty"});
    }
  });
}

/// Writes a file of its own during its destruction, as a logger might.
class Writer {
 public:
  Writer(LocalFiles& files, exec::Transport& transport) : files_(files), transport_(transport) {}
  ~Writer() {
    File out = files_.open(transport_, "last.h5", Mode::write);
    const Variable v = out.define<double>("v", {}, {.steps = true});
    Step step = out.begin_step();
    step.put(v, &value_);
    step.end();
  }

 private:
  LocalFiles& files_;
  exec::Transport& transport_;
  const double value_ = 2;
};

TEST_F(Handles, AFileOpenedWhileAnExceptionUnwindsIsClosedAsAnyOther) {
  alone([&](exec::Transport& transport) {
    try {
      const Writer writer(files_, transport);
      throw std::runtime_error("unwinding");
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(files_.open(transport, "last.h5", Mode::read).steps(), 1u);
  });
}

TEST_F(Handles, RecordsAndSessionsThatWereMovedFrom) {
  alone([&](exec::Transport& transport) {
    Records from(std::make_unique<detail::RecordsImpl>(
        [&](const Options& options) {
          return detail::open_on(transport, files_.storage(), "r.rec", Mode::write, options);
        },
        Mode::write, 1, Options{}));
    Records to = std::move(from);
    expect_error(thrown_by([&] { from.write(value_); }), Code::wrong_state, {"moved from"});
    expect_error(thrown_by([&] { from.commit(); }), Code::wrong_state, {"moved from"});
    expect_error(thrown_by([&] { from.close(); }), Code::wrong_state, {"moved from"});
    EXPECT_EQ(from.parts(), 0);
    to.close();

    SessionFile old(std::make_unique<detail::SessionImpl>(transport, files_.storage(), "s.bin",
                                                          Mode::write, Options{}));
    SessionFile file = std::move(old);
    expect_error(thrown_by([&] { old.start(0, 1); }), Code::wrong_state, {"moved from"});
    expect_error(thrown_by([&] { old.poll(); }), Code::wrong_state, {"moved from"});
    expect_error(thrown_by([&] { old.close(); }), Code::wrong_state, {"moved from"});
    file.close();
  });
}

TEST_F(Handles, RecordsAndSessionsTakeOverByAssignment) {
  alone([&](exec::Transport& transport) {
    const auto records = [&](const std::string& path) {
      return Records(std::make_unique<detail::RecordsImpl>(
          [&transport, path, this](const Options& options) {
            return detail::open_on(transport, files_.storage(), path, Mode::write, options);
          },
          Mode::write, 1, Options{}));
    };
    Records log = records("a.rec");
    Records other = records("b.rec");
    other.write(value_);
    other.commit();
    log = std::move(other);  // closes a.rec
    EXPECT_EQ(other.parts(), 0);
    EXPECT_EQ(log.groups(), 1u);
    log.close();

    const auto session = [&](const std::string& path) {
      return SessionFile(std::make_unique<detail::SessionImpl>(transport, files_.storage(), path,
                                                               Mode::write, Options{}));
    };
    SessionFile file = session("a.bin");
    SessionFile later = session("b.bin");
    file = std::move(later);  // closes a.bin
    expect_error(thrown_by([&] { later.poll(); }), Code::wrong_state, {"moved from"});
    file.poll();
    file.close();
  });
}

}  // namespace
}  // namespace sluice::test
