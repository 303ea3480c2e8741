// 4,096 parts under a limit of 256 open files: written by as many virtual ranks of this one
// process, read, verified and merged.
#include <chrono>
#include <cstdio>
#include <sys/resource.h>

#include "commit/tools/merge.hpp"
#include "commit/tools/verify.hpp"
#include "parts/bounded_storage.hpp"
#include "parts/sets.hpp"

namespace sluice::test {
namespace {

constexpr int parts = 4096;

class Many : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = 256;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  void TearDown() override { setrlimit(RLIMIT_NOFILE, &before_); }

  void timed(const char* what, const std::function<void()>& work) {
    const auto began = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf("%d parts: %s in %.1f s\n", parts, what, took.count());
  }

  rlimit before_{};
};

TEST_F(Many, PartsUnderASmallLimitOfOpenFiles) {
  const storage::Scratch scratch;
  const std::string path = scratch / "out.h5";
  const Steps steps{.shape = {2 * parts, 3}, .steps = 2, .slabs = true};
  // A process of a real run has one part; here one process has all of them, so its files take
  // turns.
  timed("written", [&] {
    write_set(parts, std::make_shared<BoundedStorage>(storage::make("posix"), 128), path,
              SetKind{}.options(), steps);
  });
  const auto storage = storage::make("posix");
  timed("read", [&] { expect_set(3, storage, path, steps); });
  timed("verified", [&] {
    on_ranks(3, [&](exec::Transport& transport) {
      EXPECT_EQ(commit::verify(transport, *storage, path).state, commit::State::ok);
    });
  });
  timed("merged", [&] {
    on_ranks(3, [&](exec::Transport& transport) {
      Options options;
      options.durability = Durability::none;
      commit::merge(transport, *storage, path, scratch / "plain.h5", options);
    });
  });
  expect_set(2, storage, scratch / "plain.h5", steps);
}

}  // namespace
}  // namespace sluice::test
