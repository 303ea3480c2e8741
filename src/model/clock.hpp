// Seconds of a monotonic clock, for limits and measurements; and the time of day, which is stored
// in files.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace sluice::model {

inline double now_s() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

/// The same of a clock that goes on while the machine sleeps, where the system has one.
inline double now_with_sleep_s() noexcept {
#ifdef CLOCK_BOOTTIME
  constexpr clockid_t clock = CLOCK_BOOTTIME;
#else
  constexpr clockid_t clock = CLOCK_MONOTONIC;
#endif
  constexpr double ns_per_s = 1e9;
  struct timespec now = {};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / ns_per_s;
}

/// Nanoseconds since 1970, UTC.
inline std::int64_t wall_clock_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// The same in nanoseconds: ranks exchange integers.
inline std::int64_t to_ns(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }
inline double from_ns(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace sluice::model
