#include "storage/background_thread.hpp"

#include <csignal>
#include <utility>

namespace sluice::storage {

std::thread start_background(std::function<void()> work) {
  // A new thread has the mask of the one that starts it.
  class Blocked {
   public:
    Blocked() {
      sigset_t all;
      ::sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;
    ~Blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

   private:
    sigset_t before_{};
  };
  const Blocked signals;
  return std::thread(std::move(work));
}

}  // namespace sluice::storage
