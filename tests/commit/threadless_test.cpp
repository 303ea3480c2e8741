// Where the system gives no threads, or fewer than a file wants: steps succeed or fail as a whole,
// nothing waits for a thread that never starts, and later steps go on.
#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "api/file/file_impl.hpp"
#include "exec/transport/solo_transport.hpp"
#include "storage/scratch.hpp"
#include "support/few_threads.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

const Shape shape = {40, 300};

struct Way {
  std::string strategy;
  std::string compress;
  std::uint64_t keep_last;
};

/// Does the call succeed? If it fails, it is for want of a thread.
template <class Call>
bool succeeds(Call&& call) {
  try {
    call();
    return true;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::io) << e.what();
    EXPECT_NE(std::string(e.what()).find("thread"), std::string::npos) << e.what();
    return false;
  }
}

void put_step(File& out, Variable v) {
  Giver<double> giver;
  Step step = out.begin_step();
  giver.put(step, v, out.steps(), shape, whole_box(shape));
  step.end().wait();
}

/// Opens and begins while that many threads are to be had, and goes on with all.
void run(const Way& way, int threads) {
  const storage::Scratch scratch;
  const auto transport = exec::make_solo();
  Options options;
  options.strategy = way.strategy;
  options.compress = way.compress;
  options.keep_last = way.keep_last;
  options.timeout_s = 20;
  options.log = Log::off;
  std::optional<File> out;
  const auto open = [&] {
    out.emplace(
        detail::open_on(*transport, storage::make_posix(), scratch / "f.h5", Mode::write, options));
  };
  threads_left = threads;
  const bool is_open = succeeds(open);
  const auto define = [&] { return out->define<double>("v", shape, {.steps = true}); };
  if (is_open) {
    const Variable v = define();
    succeeds([&] { put_step(*out, v); });
  }
  threads_left = 1000;
  if (!is_open) {
    open();
  }
  const Variable v = define();
  while (out->steps() < 3) {
    put_step(*out, v);
  }
  out->close();
  File in(detail::open_on(*transport, storage::make_posix(), scratch / "f.h5", Mode::read, {}));
  ASSERT_EQ(in.steps(), 3u);
  for (std::uint64_t s = 0; s < 3; ++s) {
    expect_values<double>(in, "v", s, shape, whole_box(shape), s);
  }
}

TEST(Threadless, StepsSucceedOrFailAsAWhole) {
  for (const Way& way :
       {Way{"serial", "", 0}, Way{"shared", "", 0}, Way{"collective", "", 0}, Way{"forward", "", 0},
        Way{"forward", "zstd:1", 0}, Way{"forward", "", 5}}) {
    for (int threads = 0; threads < 6; ++threads) {
      SCOPED_TRACE(way.strategy + " " + way.compress + " keep " + std::to_string(way.keep_last) +
                   ", threads: " + std::to_string(threads));
      run(way, threads);
    }
  }
}

}  // namespace
}  // namespace sluice::test
