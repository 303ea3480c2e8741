// Waiting for something in memory that processes share, without spinning.
#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::exec {

/// Lies in memory that processes may share; zeroed memory is a bell. Read heard() first, then look
/// at what is waited for, then wait(heard): a ring in between is not lost.
class Bell {
 public:
  std::uint32_t heard() const noexcept { return rings_.load(std::memory_order_acquire); }
  void ring() noexcept;
  /// Returns when it has rung since heard(), or after `limit_s` seconds, or for no reason.
  void wait(std::uint32_t heard, double limit_s) const noexcept;

 private:
  std::atomic<std::uint32_t> rings_;
  mutable std::atomic<std::uint32_t> waiting_;
};

}  // namespace sluice::exec
