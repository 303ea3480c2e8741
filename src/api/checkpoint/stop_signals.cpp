#include "api/checkpoint/stop_signals.hpp"

#include <atomic>
#include <csignal>
#include <mutex>
#include <pthread.h>
#include <unistd.h>

namespace sluice::detail {

namespace {

constexpr int stopping[] = {SIGTERM, SIGUSR1};

std::atomic<std::uint32_t> count_of_signals{0};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

std::mutex users_mutex;
int users = 0;
struct sigaction found[2];  ///< what stood there when the first user came
bool is_ours[2] = {false, false};
std::atomic<pid_t> owner{0};  ///< the process whose signals are noted
static_assert(std::atomic<pid_t>::is_always_lock_free);

/// Only functions that a handler may call.
void note(int number) {
  if (getpid() == owner.load(std::memory_order_relaxed)) {
    count_of_signals.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  // A child that was made without the handlers of pthread_atfork.
  std::signal(number, SIG_DFL);
  std::raise(number);  // when this handler has returned
}

void install() {
  owner = getpid();
  struct sigaction noting {};
  noting.sa_handler = note;
  sigemptyset(&noting.sa_mask);
  noting.sa_flags = SA_RESTART;
  for (int i = 0; i < 2; ++i) {
    is_ours[i] = sigaction(stopping[i], nullptr, &found[i]) == 0 &&
                 (found[i].sa_flags & SA_SIGINFO) == 0 && found[i].sa_handler == SIG_DFL &&
                 sigaction(stopping[i], &noting, nullptr) == 0;
  }
}

void restore() {
  for (int i = 0; i < 2; ++i) {
    struct sigaction now {};
    const bool is_still_ours = is_ours[i] && sigaction(stopping[i], nullptr, &now) == 0 &&
                               (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == note;
    if (is_still_ours) {
      sigaction(stopping[i], &found[i], nullptr);
    }
  }
}

/// The mutex is held during a fork.
void restore_in_child() {
  restore();
  users = 0;
  users_mutex.unlock();
}

}  // namespace

StopSignals::StopSignals() : before_(count_of_signals.load()) {
  static const int registered =
      pthread_atfork([] { users_mutex.lock(); }, [] { users_mutex.unlock(); }, restore_in_child);
  static_cast<void>(registered);  // if it fails, the handler finds out
  const std::lock_guard lock(users_mutex);
  if (users++ == 0) {
    install();
  }
}

StopSignals::~StopSignals() {
  if (!process_.is_here()) {
    return;
  }
  const std::lock_guard lock(users_mutex);
  if (--users == 0) {
    restore();
  }
}

bool StopSignals::came() const noexcept { return count_of_signals.load() != before_; }

}  // namespace sluice::detail
