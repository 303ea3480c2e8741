// The benchmarks' own check of written data: it must accept correct data and nothing else.
#include <cstring>
#include <gtest/gtest.h>
#include <stdexcept>

#include "common.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint64_t elements = 100'000;

void right(int writer, std::uint64_t first, std::uint64_t count, double* out) {
  for (std::uint64_t i = 0; i < count; ++i) out[i] = pattern(writer, first + i);
}

TEST(Verify, AcceptsThePattern) {
  const World world(MPI_COMM_WORLD);
  EXPECT_NO_THROW(verify(world, elements, right));
  EXPECT_NO_THROW(verify(world, 1, right));
}

TEST(Verify, FindsOneWrongElementAtEitherEnd) {
  const World world(MPI_COMM_WORLD);
  for (const std::uint64_t wrong : {std::uint64_t{0}, elements - 1}) {
    EXPECT_THROW(verify(world, elements,
                        [=](int writer, std::uint64_t first, std::uint64_t count, double* out) {
                          right(writer, first, count, out);
                          if (wrong >= first && wrong < first + count) out[wrong - first] += 1;
                        }),
                 std::runtime_error);
  }
}

TEST(Verify, FindsDisplacedAndMissingData) {
  const World world(MPI_COMM_WORLD);
  EXPECT_THROW(verify(world, elements,
                      [](int writer, std::uint64_t first, std::uint64_t count, double* out) {
                        right(writer, first + 1, count, out);
                      }),
               std::runtime_error);
  EXPECT_THROW(verify(world, elements,
                      [](int writer, std::uint64_t first, std::uint64_t count, double* out) {
                        right(writer + 1, first, count, out);
                      }),
               std::runtime_error);
  EXPECT_THROW(verify(world, elements,
                      [](int, std::uint64_t, std::uint64_t count, double* out) {
                        std::memset(out, 0, count * sizeof(double));
                      }),
               std::runtime_error);
}

TEST(Job, ReadsItsLine) {
  const Job job("write/bare\tpath=a b=c\tmib=3");
  EXPECT_EQ(job.contestant(), "write/bare");
  EXPECT_EQ(job.text("path"), "a b=c");
  EXPECT_EQ(job.number("mib"), 3U);
  EXPECT_EQ(job.number("ranks", 7), 7U);
  EXPECT_THROW(job.text("form"), std::runtime_error);
  EXPECT_THROW(job.number("path"), std::runtime_error);
  EXPECT_THROW(Job("write/bare\tmib"), std::runtime_error);
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  MPI_Init(&argc, &argv);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
