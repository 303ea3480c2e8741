// How planes are distributed, and that text and netCDF give every rank the same voxels.
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

#include "voxels.hpp"

namespace parabmu {
namespace {

TEST(Distribution, IsWholeAndInOrder) {
  std::mt19937 draw(2);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::uint64_t> planes(1 + draw() % 60);
    for (std::uint64_t& voxels : planes) {
      voxels = draw() % 3 == 0 ? 0 : draw() % 1000;
    }
    const int ranks = static_cast<int>(1 + draw() % 70);
    const Distribution found = balanced(planes, ranks);
    ASSERT_EQ(found.ranks(), ranks);
    EXPECT_EQ(found.starts.front(), 0U);
    EXPECT_EQ(found.starts.back(), planes.size());
    EXPECT_TRUE(std::is_sorted(found.starts.begin(), found.starts.end()));
    for (std::uint64_t plane = 0; plane < planes.size(); ++plane) {
      const int owner = found.owner(plane);
      EXPECT_LE(found.begin(owner), plane);
      EXPECT_GT(found.end(owner), plane);
    }
  }
}

TEST(Distribution, NoRankHasMuchMoreThanItsShare) {
  std::mt19937 draw(3);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::uint64_t> planes(40 + draw() % 60);
    for (std::uint64_t& voxels : planes) {
      voxels = draw() % 1000;
    }
    const int ranks = static_cast<int>(1 + draw() % 12);
    const Distribution found = balanced(planes, ranks);
    const auto total = std::accumulate(planes.begin(), planes.end(), std::uint64_t{0});
    for (int rank = 0; rank < ranks; ++rank) {
      std::uint64_t own = 0;
      for (std::uint64_t plane = found.begin(rank); plane < found.end(rank); ++plane) {
        own += planes[plane];
      }
      EXPECT_LE(own, total / static_cast<std::uint64_t>(ranks) + 1000);
    }
  }
}

TEST(Distribution, PlanesWithoutVoxelsBelongToSomebody) {
  const Distribution found = balanced({0, 0, 5, 5, 0}, 2);
  EXPECT_EQ(found.starts, (std::vector<std::uint64_t>{0, 3, 5}));
  EXPECT_EQ(balanced({0, 0}, 3).starts.back(), 2U);
}

}  // namespace
}  // namespace parabmu
