// When a request that failed is sent again: exponentially later, with jitter, until a deadline,
// which alone ends the tries.
//
// Invariant: a value without a clock: the caller says how much time has passed and what chance
// decided, so that tests know every wait.
#pragma once

#include <algorithm>
#include <optional>

namespace sluice::storage {

struct BackoffLimits {
  double first_s = 0.1;
  double most_s = 10;       ///< between two tries
  double deadline_s = 300;  ///< of all tries together
};

class Backoff {
 public:
  explicit Backoff(const BackoffLimits& limits) : limits_(limits), next_s_(limits.first_s) {}

  /// The wait before the next try, after `elapsed_s`; empty: no more. `chance` is in [0, 1): the
  /// wait is between a half and the whole of its step, so that ranks do not come back together.
  std::optional<double> next(double elapsed_s, double chance) {
    ++tries_;
    const double wait_s = next_s_ * (1 + chance) / 2;
    if (elapsed_s + wait_s >= limits_.deadline_s) {
      return std::nullopt;
    }
    next_s_ = std::min(next_s_ * 2, limits_.most_s);
    return wait_s;
  }
  int tries() const noexcept { return tries_; }

 private:
  BackoffLimits limits_;
  double next_s_;
  int tries_ = 0;
};

}  // namespace sluice::storage
