// The output of SLUICE_EXPLAIN=1: the options and their origin, then, once, with the first step,
// the totals of the plan.
#include <cstdlib>

#include "layout/local_files.hpp"

namespace sluice::test {
namespace {

/// Ranks write 3 steps of 600 doubles; returns what was printed.
std::string printed(const std::string& path, const Options& options, int ranks = 3) {
  setenv("SLUICE_EXPLAIN", "1", 1);
  LocalFiles files;
  testing::internal::CaptureStderr();
  files.run(ranks, [&](exec::Transport& transport) {
    File out = files.open(transport, path, Mode::write, options);
    const auto v = out.define<double>("v", {600}, {.steps = true});
    for (std::uint64_t s = 0; s < 3; ++s) {
      Giver<double> giver;
      Step step = out.begin_step();
      giver.put(step, v, s, {600}, slab({600}, transport.rank(), transport.size()));
      step.end();
    }
    out.close();
  });
  unsetenv("SLUICE_EXPLAIN");
  return testing::internal::GetCapturedStderr();
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) {
    ++found;
  }
  return found;
}

TEST(Explain, SerialMovesWhatTheOthersHave) {
  Options options;
  options.strategy = "serial";
  const std::string text = printed("out.h5", options);
  EXPECT_EQ(count(text, "sluice: out.h5: options"), 1) << text;
  EXPECT_EQ(count(text, "strategy        serial              code"), 1) << text;
  EXPECT_EQ(count(text, "first commit: "), 1) << text;
  EXPECT_NE(text.find("sluice: out.h5: format hdf5, first commit: 1 file, 1 of 3 ranks write, "
                      "4.7 KiB written, 3.1 KiB moved between ranks"),
            std::string::npos)
      << text;
}

TEST(Explain, SharedMovesNothing) {
  Options options;
  options.strategy = "shared";
  const std::string text = printed("out.npy", options);
  EXPECT_NE(text.find("format npy, first commit: 1 file, 3 of 3 ranks write, 4.7 KiB written, "
                      "0 bytes moved between ranks"),
            std::string::npos)
      << text;
}

TEST(Explain, CollectiveMovesToTheOwnersOfTiles) {
  Options options;
  options.strategy = "collective";
  options.writers = 1;
  const std::string text = printed("out.nc", options);
  EXPECT_NE(text.find("format netcdf4, first commit: 1 file, 1 of 3 ranks write, 4.7 KiB written, "
                      "3.1 KiB moved between ranks"),
            std::string::npos)
      << text;
}

/// In dense bytes, for the way in which the commit is written.
TEST(Explain, CompressedMovesToTheOwnersOfTiles) {
  for (const char* strategy : {"serial", "collective", "forward"}) {
    Options options;
    options.strategy = strategy;
    options.writers = std::string(strategy) == "serial" ? 0 : 1;
    options.compress = "deflate:1";
    const std::string text = printed("out.h5", options);
    EXPECT_EQ(count(text, "first commit: "), 1) << text;
    EXPECT_NE(text.find("first commit: 1 file, 1 of 3 ranks write, 4.7 KiB written, "
                        "3.1 KiB moved between ranks"),
              std::string::npos)
        << text;
  }
}

/// Once, with what the groups did: the data of all ranks, and the index.
TEST(Explain, ASetOfPartsIsExplainedOnce) {
  struct Row {
    const char* strategy;
    std::uint64_t keep;
    int ranks;
    const char* files;
  };
  for (const Row& row :
       {Row{"file-per-process", 0, 1, "2 files, 1 of 1 ranks write"},
        Row{"file-per-process", 0, 3, "4 files, 3 of 3 ranks write"},
        Row{"file-per-node", 0, 1, "2 files, 1 of 1 ranks write"},
        Row{"file-per-node", 0, 3, "2 files, "},
        Row{"forward", 2, 1, "2 files, 1 of 1 ranks write"}, Row{"forward", 2, 3, "2 files, "}}) {
    Options options;
    options.strategy = row.strategy;
    options.keep_last = row.keep;
    const std::string text = printed("out.h5", options, row.ranks);
    EXPECT_EQ(count(text, "first commit: "), 1) << row.strategy << text;
    EXPECT_EQ(count(text, std::string("first commit: ") + row.files), 1) << row.strategy << text;
    EXPECT_EQ(count(text, "4.7 KiB written"), 1) << row.strategy << text;
  }
}

TEST(Explain, SaysNothingUnlessAsked) {
  LocalFiles files;
  testing::internal::CaptureStderr();
  files.run(2, [&](exec::Transport& transport) {
    File out = files.open(transport, "out.h5", Mode::write);
    out.define<double>("v", {6});
    out.close();
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace sluice::test
