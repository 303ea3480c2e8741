// Seconds of a clock that only goes on, for limits and for measuring.
#pragma once

#include <chrono>

namespace sluice::model {

inline double now_s() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace sluice::model
