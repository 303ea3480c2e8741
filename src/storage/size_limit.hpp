// Turns a write beyond the file size limit (ulimit -f) into an error instead of a signal that ends
// the program.
//
// The kernel fails such a write with EFBIG, and also sends SIGXFSZ to the writing thread. The
// signal is blocked for the thread during the call and consumed afterwards; no handler of the
// program is replaced. Without a limit, the usual case, this costs one system call.
#pragma once

#include <cstdint>
#include <limits>
#include <signal.h>

namespace sluice::storage {

class SizeLimit {
 public:
  SizeLimit() noexcept;
  SizeLimit(const SizeLimit&) = delete;
  SizeLimit& operator=(const SizeLimit&) = delete;
  /// Keeps errno.
  ~SizeLimit();

  /// The limit at construction; the largest number if there is none.
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = std::numeric_limits<std::uint64_t>::max();
  bool is_blocking_ = false;
  bool was_pending_ = false;  ///< a pending signal of somebody else
  sigset_t mask_ = {};        ///< of the thread, before the call
};

}  // namespace sluice::storage
