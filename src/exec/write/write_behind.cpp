#include "exec/write/write_behind.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "model/clock.hpp"
#include "sluice/error.hpp"

namespace sluice::exec {

WriteBehind::WriteBehind(std::size_t buffer_bytes, std::size_t buffers, Pace pace,
                         std::size_t fewest, const StagingLimits& limits, storage::Cores cores)
    : buffer_bytes_(buffer_bytes),
      most_buffers_(buffers),
      pace_(pace),
      fewest_buffers_(fewest),
      limits_(limits),
      cores_(cores) {}

WriteBehind::~WriteBehind() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
  give_back_free();
}

/// nullptr where those that there are must do.
Staging* WriteBehind::another() {
  if (owned_.size() >= most_buffers_) {
    return nullptr;
  }
  auto staging = StagingPool::of_process().take_staging(buffer_bytes_, limits_.budget_bytes,
                                                        owned_.size() < fewest_buffers_);
  if (!staging) {
    return nullptr;
  }
  owned_.push_back(std::move(staging));
  most_owned_ = std::max(most_owned_, owned_.size());
  return owned_.back().get();
}

void WriteBehind::give_back() {
  const std::lock_guard lock(mutex_);
  give_back_free();
}

void WriteBehind::give_back_free() {
  for (Staging* const free : free_) {
    const auto found = std::find_if(owned_.begin(), owned_.end(),
                                    [&](const auto& owned) { return owned.get() == free; });
    StagingPool::of_process().give_back(std::move(*found), limits_.idle_s);
    owned_.erase(found);
  }
  free_.clear();
}

Staging* WriteBehind::take() {
  std::unique_lock lock(mutex_);
  std::exception_ptr failure;
  try {
    if (Staging* const staging = free_.empty() ? another() : nullptr) {
      return staging;
    }
  } catch (...) {
    failure = std::current_exception();  // what is on its way comes back
  }
  const double began_s = free_.empty() ? model::now_s() : 0;
  while (pace_ == Pace::when_asked && free_.empty() && !queue_.empty()) {
    carry_out_front(lock);
  }
  changed_.wait(lock, [&] { return !free_.empty() || (failure && queue_.empty() && !busy_); });
  if (free_.empty()) {
    std::rethrow_exception(failure);
  }
  waited_s_ += began_s != 0 ? model::now_s() - began_s : 0;
  Staging* staging = free_.back();
  free_.pop_back();
  return staging;
}

void WriteBehind::put_back(Staging* staging) {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(staging);
  }
  changed_.notify_all();
}

void WriteBehind::submit(storage::File& file, Staging* staging, std::uint64_t base,
                         std::size_t from, std::size_t to) {
  submit(file, staging, {{base + from, {staging->data() + from, to - from}}});
}

void WriteBehind::submit(storage::File& file, Staging* staging,
                         std::vector<storage::WritePiece> pieces) {
  Job job;
  job.staging = staging;
  job.work = [&file, kept = std::move(pieces)](bool has_failed) {
    for (std::size_t i = 0; i < kept.size() && !has_failed; ++i) {
      file.write(kept[i].offset, kept[i].bytes);
    }
  };
  enqueue(std::move(job));
}

void WriteBehind::submit(std::function<void(bool has_failed)> work) {
  Job job;
  job.work = std::move(work);
  enqueue(std::move(job));
}

void WriteBehind::submit_task(Task task) {
  Job job;
  job.task = std::move(task);
  enqueue(std::move(job));
}

void WriteBehind::submit_task(Task task, std::function<bool()> is_ready) {
  Job job;
  job.task = std::move(task);
  job.is_ready = std::move(is_ready);
  enqueue(std::move(job));
}

void WriteBehind::limit_buffers(std::size_t buffers) {
  const std::lock_guard lock(mutex_);
  most_buffers_ = std::min(most_buffers_, std::max(owned_.size(), buffers));
}

void WriteBehind::enqueue(Job job) {
  if (pace_ == Pace::at_once) {
    if (job.staging != nullptr) {
      put_back(job.staging);
    }
    job.task ? job.task(nullptr) : job.work(false);
    return;
  }
  if (pace_ == Pace::in_thread && !thread_.joinable()) {
    try {
      thread_ = storage::start_background([this] { run(); }, cores_);
    } catch (const std::system_error& e) {
      if (job.staging != nullptr) {
        put_back(job.staging);
      }
      throw Error(Code::io, std::string("a thread for writing cannot be started: ") + e.what() +
                                ": raise the limit of processes (ulimit -u)");
    }
  }
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(job));
  }
  changed_.notify_all();
}

bool WriteBehind::pump() {
  std::unique_lock lock(mutex_);
  if (pace_ != Pace::when_asked || queue_.empty() ||
      (queue_.front().is_ready && !queue_.front().is_ready())) {
    return false;
  }
  carry_out_front(lock);
  return true;
}

void WriteBehind::write_through(storage::File& file, std::uint64_t offset,
                                std::span<const std::byte> bytes) {
  drain();
  file.write(offset, bytes);
}

void WriteBehind::drain() {
  std::unique_lock lock(mutex_);
  while (pace_ == Pace::when_asked && !queue_.empty()) {
    carry_out_front(lock);
  }
  changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
  if (limits_.idle_s > 0) {
    give_back_free();
  }
  if (failure_) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

void WriteBehind::abandon(Staging* staging) noexcept {
  if (staging != nullptr) {
    put_back(staging);
  }
  try {
    drain();
  } catch (...) {
    // one failure is enough
  }
}

void WriteBehind::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) {
      return;
    }
    carry_out_front(lock);
  }
}

void WriteBehind::carry_out_front(std::unique_lock<std::mutex>& lock) {
  Job job = std::move(queue_.front());
  queue_.pop_front();
  busy_ = true;
  const std::exception_ptr earlier = job.task ? std::exchange(failure_, nullptr) : failure_;
  lock.unlock();
  std::exception_ptr failure;
  try {
    if (job.task) {
      job.task(earlier);
    } else {
      job.work(earlier != nullptr);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  failure_ = failure_ ? failure_ : failure;
  if (job.staging != nullptr) {
    free_.push_back(job.staging);
  }
  busy_ = false;
  changed_.notify_all();
}

}  // namespace sluice::exec
