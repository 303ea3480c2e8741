// How long requests that fail are still waited for, all together.
//
// Invariants: a store that comes back just in time for one request after the other is given up as
// one that stays away: what was waited comes back only as time passes without a wait, as much as
// that time; a value without a clock, as Backoff.
#pragma once

#include <algorithm>

namespace sluice::storage {

class Patience {
 public:
  explicit Patience(double most_s) : most_s_(most_s), left_s_(most_s) {}

  /// A request that was sent at `sent_s` has failed, and will be sent again.
  void begin_wait(double sent_s, double now_s) {
    pass(std::max(sent_s, at_s_));
    ++waiting_;
    pass(now_s);
  }
  void end_wait(double now_s) {
    pass(now_s);
    --waiting_;
  }
  double left_s(double now_s) {
    pass(now_s);
    return left_s_;
  }

 private:
  void pass(double now_s) {
    const double passed_s = std::max(0.0, now_s - at_s_);
    left_s_ = std::min(most_s_, left_s_ + (waiting_ != 0 ? -passed_s : passed_s));
    at_s_ = std::max(at_s_, now_s);
  }

  double most_s_;
  double left_s_;
  double at_s_ = 0;
  int waiting_ = 0;
};

}  // namespace sluice::storage
