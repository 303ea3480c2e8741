// Waiting for something in memory that processes share, without spinning.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::exec {

/// Lies in memory that processes may share; zeroed memory is one that has seen no event.
/// Read epoch() first, then look at the state, then wait(epoch): a notification in between is not
/// lost.
class EventCount {
 public:
  std::uint32_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }
  void notify() noexcept;
  /// Returns when notify() was called since epoch(), or after `limit_s` seconds, or for no reason.
  void wait(std::uint32_t epoch, double limit_s) const noexcept;

 private:
  std::atomic<std::uint32_t> epoch_;
  mutable std::atomic<std::uint32_t> waiting_;
};

}  // namespace sluice::exec
