// Names of tests.
#pragma once

#include <algorithm>
#include <string>

namespace sluice::test {

/// Without a minus, which has a meaning in the filters of tests.
inline std::string test_name(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace sluice::test
