#include "plugin/sync_behind.hpp"

#include <csignal>
#include <system_error>

namespace sluice::plugin {

SyncBehind::SyncBehind(storage::Storage& storage, storage::File& file) : file_(file) {
  if (!storage.in_background()) {
    return;
  }
  // Signals of the program are for its own threads.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { sync(); });
  } catch (const std::system_error&) {
    // no thread to be had: finish() does it
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

SyncBehind::~SyncBehind() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

void SyncBehind::sync() noexcept {
  try {
    file_.sync();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void SyncBehind::finish() {
  if (thread_.joinable()) {
    thread_.join();
  } else {
    sync();
  }
  if (failure_) {
    std::rethrow_exception(failure_);
  }
}

}  // namespace sluice::plugin
