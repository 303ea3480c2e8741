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

}  // namespace
}  // namespace sluice::test
