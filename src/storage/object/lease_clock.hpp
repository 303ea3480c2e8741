// How long the writer lease of a store is surely held, by the clock of this process.
//
// Invariant: it has run out when another writer may take the lease over: it counts from before a
// renewal is sent, and the store from when it has arrived. A machine that sleeps does not stop it.
#pragma once

#include <atomic>
#include <cstdint>

#include "model/clock.hpp"

namespace sluice::storage {

class LeaseClock {
 public:
  explicit LeaseClock(double stale_after_s) : stale_after_s_(stale_after_s), renewed_s_(now_s()) {}

  static double now_s() noexcept { return model::now_with_sleep_s(); }

  double stale_after_s() const noexcept { return stale_after_s_; }
  /// `sent_s`: of now_s(), before the renewal that the store has answered was sent.
  void renew(double sent_s) noexcept { renewed_s_ = sent_s; }
  /// Another writer has it: for good.
  void lose() noexcept { is_lost_ = true; }
  bool is_lost() const noexcept { return is_lost_; }
  /// Until another writer may take it over; not positive: that may have happened.
  double left_s() const noexcept { return renewed_s_ + stale_after_s_ - now_s(); }

 private:
  const double stale_after_s_;
  std::atomic<double> renewed_s_;
  std::atomic<bool> is_lost_ = false;
};

}  // namespace sluice::storage
