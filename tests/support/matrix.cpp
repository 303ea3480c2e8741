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

class CellTest final : public testing::Test {
 public:
  CellTest(std::string behaviour, BehaviourBody body, Cell cell, MakeWorld make_world)
      : behaviour_(std::move(behaviour)),
        body_(body),
        cell_(std::move(cell)),
        make_world_(std::move(make_world)) {}
  void TestBody() override { run_behaviour(*make_world_(cell_), behaviour_, body_); }

 private:
  std::string behaviour_;
  BehaviourBody body_;
  Cell cell_;
  MakeWorld make_world_;
};

}  // namespace

void register_in_cells(const char* group, const char* name, const char* file, int line,
                       BehaviourBody body, const std::vector<Cell>& cells,
                       const MakeWorld& make_world) {
  for (const Cell& cell : cells) {
    const std::string full = std::string(name) + "/" + cell.name();
    testing::RegisterTest(group, full.c_str(), nullptr, cell.name().c_str(), file, line,
                          [=, behaviour = std::string(group) + "." + name]() -> testing::Test* {
                            return new CellTest(behaviour, body, cell, make_world);
                          });
  }
}

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
