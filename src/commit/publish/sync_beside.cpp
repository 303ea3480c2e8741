#include "commit/publish/sync_beside.hpp"

#include <utility>

#include "exec/write/write_behind.hpp"

namespace sluice::commit {

SyncBeside::~SyncBeside() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void SyncBeside::begin(storage::File& file) {
  {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) {
      thread_ = std::thread([this] { run(); });
    }
    file_ = &file;
    is_done_ = false;
  }
  changed_.notify_all();
}

std::exception_ptr SyncBeside::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_done_; });
  return std::exchange(failure_, nullptr);
}

void SyncBeside::run() {
  exec::unbind_thread();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || file_ != nullptr; });
    if (file_ == nullptr) {
      return;
    }
    storage::File& file = *std::exchange(file_, nullptr);
    lock.unlock();
    std::exception_ptr failure;
    try {
      file.sync();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    is_done_ = true;
    changed_.notify_all();
  }
}

}  // namespace sluice::commit
