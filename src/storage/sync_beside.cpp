#include "storage/sync_beside.hpp"

#include <system_error>
#include <utility>

#include "storage/background_thread.hpp"

namespace sluice::storage {

namespace {

std::exception_ptr failure_of_sync(File& file) {
  try {
    file.sync();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

SyncBeside::~SyncBeside() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool SyncBeside::has_thread() {
  if (!thread_.joinable() && storage_.in_background()) {
    try {
      thread_ = start_background([this] { run(); }, cores_);
    } catch (const std::system_error&) {
      // finish() does it
    }
  }
  return thread_.joinable();
}

void SyncBeside::begin(File& file) {
  {
    const std::lock_guard lock(mutex_);
    file_ = &file;
    is_begun_ = true;
    is_done_ = false;
    if (!has_thread()) return;
  }
  changed_.notify_all();
}

std::exception_ptr SyncBeside::finish() {
  std::unique_lock lock(mutex_);
  if (!std::exchange(is_begun_, false)) return nullptr;
  if (!thread_.joinable()) return failure_of_sync(*std::exchange(file_, nullptr));
  changed_.wait(lock, [this] { return is_done_; });
  return std::exchange(failure_, nullptr);
}

void SyncBeside::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || file_ != nullptr; });
    if (file_ == nullptr) return;
    File& file = *std::exchange(file_, nullptr);
    lock.unlock();
    std::exception_ptr failure = failure_of_sync(file);
    lock.lock();
    failure_ = std::move(failure);
    is_done_ = true;
    changed_.notify_all();
  }
}

}  // namespace sluice::storage
