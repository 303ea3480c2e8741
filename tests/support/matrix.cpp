#include "support/matrix.hpp"

#include <cstdio>
#include <gtest/gtest.h>
#include <map>

#include "support/unsupported.hpp"

namespace sluice::test {

namespace {

struct Count {
  int passed = 0;
  int skipped = 0;
  int ran = 0;
};

}  // namespace

void print_matrix(const std::vector<std::string>& names) {
  std::map<std::string, Count> counts;
  const testing::UnitTest& unit = *testing::UnitTest::GetInstance();
  for (int s = 0; s < unit.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *unit.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      if (test.should_run() && test.value_param() != nullptr) {
        Count& count = counts[test.value_param()];
        count.passed += test.result()->Passed() ? 1 : 0;
        count.skipped += test.result()->Skipped() ? 1 : 0;
        ++count.ran;
      }
    }
  }
  for (const std::string& name : names) {
    const Count& count = counts[name];
    if (count.ran != 0) {
      std::printf("%-34s %3d of %3d behaviours", name.c_str(), count.passed,
                  count.ran - count.skipped);
      count.skipped == 0 ? std::printf("\n")
                         : std::printf(", %d have no meaning there\n", count.skipped);
    }
  }
  for (const UnsupportedCell& cell : unsupported_cells()) {
    const std::string name = std::string(cell.strategy) + " x " + cell.layout;
    std::printf("%-34s unsupported: %s\n", name.c_str(), cell.reason);
  }
}

}  // namespace sluice::test
