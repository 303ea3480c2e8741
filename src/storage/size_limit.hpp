// A write beyond the limit of file size (ulimit -f) as an error instead of a signal that ends the
// program.
//
// The kernel answers such a write with EFBIG, and sends the writing thread SIGXFSZ besides. The
// signal is kept from the thread for the length of the call and taken away afterwards; no handler
// of the program is replaced. Without a limit, which is usual, it costs one question.
#pragma once

#include <signal.h>

namespace sluice::storage {

class SizeLimit {
 public:
  SizeLimit() noexcept;
  SizeLimit(const SizeLimit&) = delete;
  SizeLimit& operator=(const SizeLimit&) = delete;
  /// Leaves errno as it is.
  ~SizeLimit();

 private:
  bool is_blocking_ = false;
  bool was_pending_ = false;  ///< somebody else's
  sigset_t mask_ = {};        ///< of the thread, before
};

}  // namespace sluice::storage
