// The check of a decomposition where one rank has no memory for its part of it: every rank is told,
// and none waits for the others.
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <new>

#include "exec/check/check.hpp"
#include "support/local_transport.hpp"

namespace {

/// The longest memory that this thread can get.
thread_local std::size_t most_bytes = std::numeric_limits<std::size_t>::max();

}  // namespace

void* operator new(std::size_t bytes) {
  void* at = bytes > most_bytes ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (at == nullptr) {
    throw std::bad_alloc();
  }
  return at;
}
void operator delete(void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }

namespace sluice::exec {
namespace {

constexpr std::uint64_t rows = 20000;

/// Rank 0 has the first row, rank 1 all others one by one, rank 2 none; `poor` has little memory.
void check_with(int poor) {
  const std::vector<VariableShape> variables{{"v", {rows}, false}};
  int told = 0;
  run_local(3, 1, [&](Transport& transport) {
    std::vector<OwnBlock> own;
    for (std::uint64_t row = 0; row < rows; ++row) {
      if (transport.rank() == (row == 0 ? 0 : 1)) {
        own.push_back({0, {{row}, {1}}});
      }
    }
    try {
      most_bytes = transport.rank() == poor ? 100000 : std::numeric_limits<std::size_t>::max();
      check_coverage(transport, variables, own);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::over_budget) << e.what();
      EXPECT_EQ(e.rank(), poor) << e.what();
      ++told;
    }
    most_bytes = std::numeric_limits<std::size_t>::max();
  });
  EXPECT_EQ(told, poor < 0 ? 0 : 3);
}

TEST(CoverageMemory, NoRankWaits) {
  check_with(-1);
  check_with(1);  // for what it sends
}

}  // namespace
}  // namespace sluice::exec
