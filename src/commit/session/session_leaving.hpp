// A rank that an exception makes leave a file of sessions, as the other ranks see it.
//
// Invariant: what the rank had sent, and what needs no such rank, is completed first.
#pragma once

#include <exception>

#include "exec/transport/transport.hpp"
#include "model/clock.hpp"

namespace sluice::commit {

class SessionLeaving {
 public:
  /// `transport` must outlive the object.
  explicit SessionLeaving(const exec::Transport& transport) : transport_(transport) {}

  /// On the thread that uses the transport, after messages were moved on. Throws the error of a
  /// rank that has left, once nothing has moved for a while; returns whether something has.
  bool require_all(bool moved) {
    if (const std::exception_ptr left = transport_.abandoned()) {
      const double now_s = model::now_s();
      still_since_s_ = moved || still_since_s_ == 0 ? now_s : still_since_s_;
      if (now_s - still_since_s_ > still_s) {
        std::rethrow_exception(left);
      }
    }
    return moved;
  }

 private:
  /// Messages may be under way for so long.
  static constexpr double still_s = 1;

  const exec::Transport& transport_;
  double still_since_s_ = 0;  ///< nothing has moved, after a rank had left; 0: none has
};

}  // namespace sluice::commit
