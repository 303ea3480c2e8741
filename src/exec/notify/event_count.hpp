// Waits for a change in memory that processes share, without spinning.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::exec {

/// Resides in memory that processes may share; zeroed memory is a valid initial state. Read epoch()
/// first, then look at the state, then wait(epoch): a notification in between is not lost.
class EventCount {
 public:
  std::uint32_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }
  void notify() noexcept;
  /// Returns if notify() was called since epoch(), after `limit_s` seconds, or spuriously.
  void wait(std::uint32_t epoch, double limit_s) const noexcept;

 private:
  std::atomic<std::uint32_t> epoch_;
  mutable std::atomic<std::uint32_t> waiting_;
};

}  // namespace sluice::exec
