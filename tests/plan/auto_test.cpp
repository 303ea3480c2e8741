// The choice of `auto` from given facts: pure, the same on every rank, explained.
#include "plan/auto.hpp"

#include <chrono>
#include <gtest/gtest.h>

#include "plan/groups.hpp"

namespace sluice::plan {
namespace {

using model::FileSystemFacts;
using model::Reach;

constexpr std::uint64_t mib = 1 << 20;
constexpr int cores = 2;

FileSystemFacts on(const char* kind, Reach reach, std::uint32_t stripes = 0,
                   std::uint64_t stripe_bytes = 0) {
  return {kind, reach, stripe_bytes, stripes};
}
const FileSystemFacts memory = on("tmpfs", Reach::memory);
const FileSystemFacts disk = on("ext4", Reach::node);

/// `bytes` of all ranks in runs of `run_bytes`.
Input input_of(const FileSystemFacts& facts, int ranks, int nodes, std::uint64_t bytes,
               std::uint64_t run_bytes) {
  Input input;
  input.topology.ranks = ranks;
  input.topology.nodes = nodes;
  input.space = {4096, bytes};
  input.bytes = bytes;
  input.mean_run_bytes = run_bytes;
  input.rates = rates_of(facts, cores);
  input.choice.tile_bytes = facts.stripe_bytes != 0 ? facts.stripe_bytes : default_tile_bytes;
  return input;
}

std::string_view taken(const Input& input) { return decide(input).candidate.strategy; }

TEST(Auto, InMemoryNothingIsSent) {
  for (const std::uint64_t run : {std::uint64_t{1024}, std::uint64_t{4096}, 4 * mib}) {
    EXPECT_EQ(taken(input_of(memory, 4, 1, 32 * mib, run)), "shared") << run;
  }
}

TEST(Auto, OnADiskShortRunsAreBroughtTogetherAndLongOnesAreNot) {
  for (const std::uint64_t run : {512, 4096, 65536}) {
    EXPECT_EQ(taken(input_of(disk, 4, 1, 32 * mib, run)), "collective") << run;
  }
  for (const std::uint64_t run : {mib / 4, mib, 8 * mib}) {
    EXPECT_EQ(taken(input_of(disk, 4, 1, 32 * mib, run)), "shared") << run;
  }
  EXPECT_EQ(taken(input_of(disk, 1, 1, 32 * mib, 512)), "shared") << "one rank, nobody to send to";
}

TEST(Auto, OfASmallStepOnADiskNothingIsSent) {
  for (const std::uint64_t run : {1024, 8192, 65536}) {
    EXPECT_EQ(taken(input_of(disk, 4, 1, mib / 16, run)), "shared") << run;
    EXPECT_EQ(taken(input_of(disk, 4, 1, 4 * mib - 1, run)), "shared") << run;
  }
}

TEST(Auto, WhatIsUnknownIsTakenForADisk) {
  const FileSystemFacts unknown;
  EXPECT_EQ(taken(input_of(unknown, 4, 1, 32 * mib, 4096)), "collective");
  EXPECT_EQ(taken(input_of(unknown, 4, 1, 32 * mib, mib)), "shared");
}

TEST(Auto, OnStripesEveryServerHasItsWriters) {
  const FileSystemFacts striped = on("fuse", Reach::parallel, 4, mib);
  for (const std::uint64_t run : {std::uint64_t{4096}, std::uint64_t{98312}, 8 * mib}) {
    const Candidate candidate = decide(input_of(striped, 4, 1, 32 * mib, run)).candidate;
    EXPECT_EQ(candidate.strategy, "collective") << run;
    EXPECT_EQ(candidate.choice.writers, 4) << run;
    EXPECT_TRUE(candidate.choice.cyclic) << run;
  }
  const Candidate lustre =
      decide(input_of(on("lustre", Reach::parallel, 8, 4 * mib), 512, 16, 4096 * mib, 300000))
          .candidate;
  EXPECT_EQ(lustre.strategy, "collective") << "runs end inside stripes: locks";
  EXPECT_EQ(lustre.choice.writers % 8, 0);
}

TEST(Auto, WriterSettingsAreKept) {
  const FileSystemFacts striped = on("lustre", Reach::parallel, 4, mib);
  Input input = input_of(striped, 16, 2, 64 * mib, 4096);
  input.choice.writers = 3;
  EXPECT_EQ(decide(input).candidate.choice.writers, 3);
  input.choice.writers = 0;
  input.choice.writer_map = "1,5";
  EXPECT_EQ(decide(input).candidate.choice.writers, 2);
  EXPECT_EQ(decide(input).candidate.choice.writer_map, "1,5");
}

TEST(Auto, ThePlanIsThatOfTheChoiceAndSaysWhy) {
  const Input input = input_of(on("lustre", Reach::parallel, 4, mib), 16, 2, 64 * mib, 4096);
  const Plan plan = strategy("auto").plan(input);
  EXPECT_EQ(plan.strategy, "collective");
  EXPECT_TRUE(plan.tiles.is_cyclic());
  EXPECT_GT(plan.predicted_s, 0);
  for (const char* part : {"collective with ", "lustre of 4 stripes of 1.0 MiB", "16 ranks",
                           "runs of 4.0 KiB", "by shared "}) {
    EXPECT_NE(plan.reason.find(part), std::string::npos) << part << ": " << plan.reason;
  }
  EXPECT_EQ(plan.reason.find(". "), std::string::npos) << "one sentence: " << plan.reason;
}

TEST(Auto, IsTheSameOnEveryRank) {
  Input input = input_of(on("lustre", Reach::parallel, 48, mib), 960, 40, 3072 * mib, 50000);
  const Decision first = decide(input);
  for (int rank = 0; rank < 960; rank += 7) {
    input.topology.rank = rank;
    input.topology.node = rank * 40 / 960;
    const std::vector<layout::Portion> portions(static_cast<std::size_t>(rank % 5));
    const std::vector<std::uint64_t> sizes(portions.size(), 4096);
    input.portions = portions;
    input.portion_sizes = sizes;
    const Decision here = decide(input);
    EXPECT_EQ(here.reason, first.reason);
    EXPECT_EQ(here.candidate.choice.writers, first.candidate.choice.writers);
  }
}

TEST(Auto, MoreNeverTakesLess) {
  for (const FileSystemFacts& facts :
       {memory, disk, on("nfs", Reach::server), on("lustre", Reach::parallel, 8, mib),
        on("gpfs", Reach::parallel)}) {
    double before = 0;
    for (std::uint64_t bytes = mib; bytes <= 4096 * mib; bytes *= 2) {
      const double now = decide(input_of(facts, 64, 4, bytes, 98312)).candidate.seconds;
      EXPECT_GT(now, before) << facts.kind << ", " << bytes;
      before = now;
    }
    double longer = 1e9;
    for (std::uint64_t run = 64; run <= 16 * mib; run *= 2) {
      const Input input = input_of(facts, 64, 4, 1024 * mib, run);
      const double now = seconds_of(input, {"shared", input.choice, 0});
      EXPECT_LE(now, longer) << facts.kind << ", runs of " << run;
      longer = now;
    }
  }
}

/// The set that is chosen if several files are allowed; "" for one file.
std::string set_taken(const Input& input) {
  const Candidate candidate = decide_files(input).candidate;
  return writes_parts(candidate.strategy) ? std::string(candidate.strategy) : "";
}

TEST(Auto, SeveralFilesAreTakenWhereTheyAreFasterOnly) {
  EXPECT_EQ(set_taken(input_of(memory, 4, 1, 0, 0)), per_process) << "the lock of one inode";
  EXPECT_EQ(set_taken(input_of(disk, 4, 1, 0, 0)), "") << "one file gets all of the disk";
  EXPECT_EQ(set_taken(input_of({}, 4, 1, 0, 0)), "");
  EXPECT_EQ(set_taken(input_of(on("nfs", Reach::server), 1, 1, 0, 0)), "") << "one rank";
  EXPECT_EQ(set_taken(input_of(memory, 1, 1, 0, 0)), "");
  const FileSystemFacts whole = on("fuse", Reach::parallel, 4, mib);
  EXPECT_EQ(set_taken(input_of(whole, 4, 1, 0, 0)), "") << "one file lies on all servers";
  const FileSystemFacts narrow = on("lustre", Reach::parallel, 1, mib);
  EXPECT_EQ(set_taken(input_of(narrow, 64, 4, 0, 0)), per_process) << "one file lies on one server";
}

TEST(Auto, ManyRanksShareTheFileOfTheirNode) {
  const FileSystemFacts narrow = on("lustre", Reach::parallel, 1, mib);
  EXPECT_EQ(set_taken(input_of(narrow, 64, 4, 0, 0)), per_process);
  EXPECT_EQ(set_taken(input_of(narrow, 100000, 800, 0, 0)), per_node);
  const Decision many = decide_files(input_of(narrow, 100000, 800, 0, 0));
  EXPECT_EQ(many.candidate.choice.writers, 800);
}

TEST(Auto, FilesAreAsManyAsWritersThatAreAskedFor) {
  const FileSystemFacts narrow = on("lustre", Reach::parallel, 1, mib);
  Input input = input_of(narrow, 64, 4, 0, 0);
  input.choice.writers = 16;
  const Candidate candidate = decide_files(input).candidate;
  EXPECT_EQ(candidate.strategy, per_node);
  EXPECT_EQ(candidate.choice.writers, 16);
  input.choice.writers = 1;
  EXPECT_EQ(set_taken(input), "");
}

TEST(Auto, SaysWhyItMakesSeveralFilesOrOneAndWhatItAssumes) {
  const std::string several = decide_files(input_of(memory, 4, 1, 0, 0)).reason;
  for (const char* part : {"file-per-process: on tmpfs", "taken to be 32.0 MiB of each of 4 ranks",
                           " takes about ", ", in one file "}) {
    EXPECT_NE(several.find(part), std::string::npos) << part << ": " << several;
  }
  const std::string one = decide_files(input_of(disk, 4, 1, 0, 0)).reason;
  EXPECT_NE(one.find("one file: on ext4"), std::string::npos) << one;
  EXPECT_NE(one.find(", by file-per-process "), std::string::npos) << one;
}

TEST(Auto, CostsLessThanAMillisecond) {
  const Input input =
      input_of(on("lustre", Reach::parallel, 64, mib), 100000, 800, 1ULL << 40, 50000);
  constexpr int times = 100;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) {
    EXPECT_GT(decide(input).candidate.seconds, 0);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  EXPECT_LT(took.count() / times, 1e-3);
}

}  // namespace
}  // namespace sluice::plan
