#include "exec/notify/event_count.hpp"

#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sluice::exec {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

void EventCount::notify() noexcept {
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (waiting_.load(std::memory_order_seq_cst) != 0) {
    syscall(SYS_futex, &epoch_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }
}

void EventCount::wait(std::uint32_t epoch, double limit_s) const noexcept {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(limit_s);
  limit.tv_nsec = static_cast<long>((limit_s - static_cast<double>(limit.tv_sec)) * 1e9);
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  // Returns at once if notify() was called since.
  syscall(SYS_futex, &epoch_, FUTEX_WAIT, epoch, &limit, nullptr, 0);
  waiting_.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace sluice::exec
