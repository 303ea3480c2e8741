// What a set of parts costs with as many parts as ranks: nothing is searched for among all parts,
// or done by every rank, that one of them can do.
#include <cstdio>
#include <ctime>

#include "commit/parts/parts_index.hpp"
#include "parts/sets.hpp"

namespace sluice::test {
namespace {

constexpr const char* path = "out.h5";

// -- the index ------------------------------------------------------------------------------------

/// Processor time, in seconds, of a commit of a set of so many parts that are all in use already:
/// the least of three. They hold nothing, so that the index has little to write.
double seconds_of_commit(std::uint64_t parts) {
  const auto memory = storage::make_memory();
  commit::PartsIndex index(*memory, path, "file-per-process", commit::Opening::create);
  std::vector<commit::PartNews> news(parts);
  for (std::uint64_t p = 0; p < parts; ++p) {
    news[p].wrote = true;
    news[p].part.path = "out.h5.parts/" + std::to_string(p) + ".h5";
    news[p].part.id = mixed(p);
  }
  commit::FileCommit step;
  step.is_step = true;
  double least = 1e9;
  for (int round = 0; round < 4; ++round) {
    for (commit::PartNews& one : news) {
      one.part.commits = static_cast<std::uint64_t>(round) + 1;
    }
    const std::clock_t began = std::clock();
    index.commit({}, step, news);
    const double took_s = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    least = round == 0 ? least : std::min(least, took_s);
  }
  EXPECT_EQ(index.set().parts.size(), parts);
  for (const std::uint64_t p : {std::uint64_t{0}, parts / 2, parts - 1}) {
    EXPECT_EQ(index.set().parts[p].id, mixed(p));
    EXPECT_EQ(index.set().parts[p].commits, 4u);
  }
  return least;
}

TEST(Ranks, AStepOfTwentyTimesTheParts) {
  const double few_s = seconds_of_commit(4000);
  const double many_s = seconds_of_commit(80000);
  std::printf("4,000 parts: %.2f ms, 80,000 parts: %.2f ms\n", few_s * 1e3, many_s * 1e3);
  EXPECT_LT(many_s, 60 * few_s) << "a search among all parts for each of them: 150 times";
}

}  // namespace
}  // namespace sluice::test
