#include "api/checkpoint/stop_signals.hpp"

#include <atomic>
#include <csignal>
#include <mutex>

namespace sluice::detail {

namespace {

constexpr int stopping[] = {SIGTERM, SIGUSR1};

std::atomic<std::uint32_t> count_of_signals{0};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

std::mutex users_mutex;
int users = 0;
struct sigaction found[2];  ///< what stood there when the first user came
bool is_ours[2] = {false, false};

void note(int) { count_of_signals.fetch_add(1, std::memory_order_relaxed); }

void install() {
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

}  // namespace

StopSignals::StopSignals() : before_(count_of_signals.load()) {
  const std::lock_guard lock(users_mutex);
  if (users++ == 0) {
    install();
  }
}

StopSignals::~StopSignals() {
  const std::lock_guard lock(users_mutex);
  if (--users == 0) {
    restore();
  }
}

bool StopSignals::came() const noexcept { return count_of_signals.load() != before_; }

}  // namespace sluice::detail
