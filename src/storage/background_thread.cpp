#include "storage/background_thread.hpp"

#include <utility>

namespace sluice::storage {

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

std::thread start_background(std::function<void()> work) {
  const SignalsBlocked signals;
  return std::thread(std::move(work));
}

}  // namespace sluice::storage
