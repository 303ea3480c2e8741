// The values that the kill test's victim writes.
#pragma once

#include <cstdint>

namespace sluice::test {

inline constexpr std::uint64_t victim_rows = 200;

inline double victim_value(std::uint64_t step, std::uint64_t row) {
  return static_cast<double>(step * 1000 + row) + 0.5;
}

}  // namespace sluice::test
