#include "storage/background_thread.hpp"

#include <cstring>
#include <pthread.h>
#include <sched.h>
#include <utility>

namespace sluice::storage {

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

namespace {

void unbind_thread() noexcept {
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  ::pthread_setaffinity_np(::pthread_self(), sizeof all, &all);
}

}  // namespace

std::thread start_background(std::function<void()> work, Cores cores) {
  const SignalsBlocked signals;
  return std::thread([work = std::move(work), cores] {
    if (cores == Cores::any) {
      unbind_thread();
    }
    work();
  });
}

}  // namespace sluice::storage
