#include "storage/size_limit.hpp"

#include <cerrno>
#include <sys/resource.h>
#include <time.h>

namespace sluice::storage {

namespace {

sigset_t the_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

SizeLimit::SizeLimit() noexcept {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  bytes_ = limit.rlim_cur;
  const sigset_t set = the_signal();
  sigset_t pending;
  was_pending_ = ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGXFSZ) == 1;
  is_blocking_ = ::pthread_sigmask(SIG_BLOCK, &set, &mask_) == 0;
}

SizeLimit::~SizeLimit() {
  if (!is_blocking_) return;
  const int kept = errno;
  if (!was_pending_) {
    const sigset_t set = the_signal();
    const timespec at_once = {};
    while (::sigtimedwait(&set, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  errno = kept;
}

}  // namespace sluice::storage
