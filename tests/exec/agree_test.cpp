// Agreements on failures: where ranks fail, all throw the same, that of the lowest rank.
#include "exec/transport/agree.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "sluice/error.hpp"
#include "support/local_transport.hpp"

namespace sluice::test {
namespace {

constexpr int ranks = 5;

std::exception_ptr failure_on(int rank) {
  return std::make_exception_ptr(Error(Code::no_space, "full at " + std::to_string(rank)));
}

/// What a rank gets of on_root() where those of `failing` have failed before: its bytes as text, or
/// the text of the error. `ran`: how often the root worked.
std::vector<std::string> outcomes(const std::vector<int>& failing, int root, int& ran,
                                  const std::exception_ptr& failure_of_root = nullptr) {
  std::vector<std::string> texts(ranks);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    std::vector<std::string> found(ranks);
    ran = 0;
    exec::run_local(ranks, seed, [&](exec::Transport& transport) {
      const int rank = transport.rank();
      const bool fails = std::find(failing.begin(), failing.end(), rank) != failing.end();
      const exec::Failures before =
          exec::failures_at_root(transport, root, fails ? failure_on(rank) : nullptr);
      std::string& text = found[static_cast<std::size_t>(rank)];
      const auto work = [&] {
        ++ran;
        if (failure_of_root) {
          std::rethrow_exception(failure_of_root);
        }
        return std::vector<std::byte>{std::byte{'o'}, std::byte{'k'}};
      };
      try {
        for (const std::byte byte : exec::detail::on_rank(transport, root, work, before)) {
          text += static_cast<char>(byte);
        }
      } catch (const Error& e) {
        text = std::to_string(static_cast<int>(e.code())) + " " + std::to_string(e.rank()) + " " +
               e.what();
      }
      transport.barrier();  // no rank is left in another call
    });
    if (seed == 0) {
      texts = found;
    }
    EXPECT_EQ(found, texts) << "seed " << seed;
  }
  return texts;
}

std::vector<std::string> on_every_rank(const std::string& text) {
  return std::vector<std::string>(ranks, text);
}

std::string no_space(int rank, const std::string& what) {
  return std::to_string(static_cast<int>(Code::no_space)) + " " + std::to_string(rank) + " rank " +
         std::to_string(rank) + ": " + what;
}

TEST(Agree, TheRootWorksWhereNoRankHasFailed) {
  for (int root = 0; root < ranks; ++root) {
    int ran = 0;
    EXPECT_EQ(outcomes({}, root, ran), on_every_rank("ok"));
    EXPECT_EQ(ran, 1);
  }
}

TEST(Agree, EveryRankThrowsWhatTheLowestThatFailedBeforeThrew) {
  for (int root = 0; root < ranks; ++root) {
    int ran = 0;
    EXPECT_EQ(outcomes({3}, root, ran), on_every_rank(no_space(3, "full at 3")));
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(outcomes({4, 1}, root, ran), on_every_rank(no_space(1, "full at 1")));
    EXPECT_EQ(outcomes({0, 1, 2, 3, 4}, root, ran), on_every_rank(no_space(0, "full at 0")));
    EXPECT_EQ(ran, 0);
  }
}

TEST(Agree, EveryRankThrowsWhatTheWorkOfTheRootThrew) {
  int ran = 0;
  EXPECT_EQ(outcomes({}, 2, ran, failure_on(7)), on_every_rank(no_space(2, "full at 7")));
  EXPECT_EQ(ran, 1);
}

TEST(Agree, AFileIsNamedOnce) {
  const auto named = [](const std::string& text, int rank) {
    return std::string(exec::naming_file({Code::io, text, rank}, "/data/run/out.h5").what());
  };
  EXPECT_EQ(named("put v: no", -1), "/data/run/out.h5: put v: no");
  EXPECT_EQ(named("rank 2: put v: no", 2), "rank 2: /data/run/out.h5: put v: no");
  EXPECT_EQ(named("out.h5: put v: no", -1), "out.h5: put v: no");
  EXPECT_EQ(named("rank 2: run/out.h5: put v: no", 2), "rank 2: run/out.h5: put v: no");
  EXPECT_EQ(named("about.h5: no", -1), "/data/run/out.h5: about.h5: no");
  EXPECT_EQ(named("no", -1), "/data/run/out.h5: no");
}

TEST(Agree, AFileThatIsBeingMadeHasTheNameThatItGets) {
  const auto named = [](const std::string& text) {
    return std::string(exec::naming_file({Code::io, text}, "run/out.h5").what());
  };
  EXPECT_EQ(named("run/out.h5.sluice-new: write failed"), "run/out.h5: write failed");
  EXPECT_EQ(named("run/out.h5: part out.h5.parts/0.h5.sluice-new: sync failed: x.sluice-new: y"),
            "run/out.h5: part out.h5.parts/0.h5: sync failed: x: y");
  const std::string rename = "run/out.h5.sluice-new: rename to run/out.h5 failed";
  EXPECT_EQ(named(rename), rename);
  EXPECT_EQ(named("run/s.zarr.sluice-begun/zarr.json.sluice-new: open failed: see its folder "
                  "run/s.zarr.sluice-begun"),
            "run/out.h5: run/s.zarr/zarr.json: open failed: see its folder run/s.zarr");
  const std::string begun = "run/out.h5.sluice-begun: rename to run/out.h5 failed";
  EXPECT_EQ(named(begun), begun);
}

}  // namespace
}  // namespace sluice::test
