#include "storage/object/workers.hpp"

#include <exception>
#include <utility>

#include "storage/background_thread.hpp"

namespace sluice::storage {

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    tasks_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void Workers::submit(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (has_thread()) {
      changed_.notify_one();
      return;
    }
    task = std::move(tasks_.back());
    tasks_.pop_back();
  }
  task();
}

/// Starts another one if none is idle. Locked by the caller.
bool Workers::has_thread() {
  if (idle_ < tasks_.size() && threads_.size() < most_) {
    try {
      threads_.push_back(start_background([this] { run(); }));
    } catch (const std::exception&) {
      // without a thread or memory the others, or the caller, do its work
    }
  }
  return !threads_.empty();
}

void Workers::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return is_over_ || !tasks_.empty(); });
    --idle_;
    if (is_over_) {
      return;
    }
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

void Workers::for_each(std::size_t count, const std::function<void(std::size_t)>& task) {
  std::mutex mutex;
  std::condition_variable done;
  std::size_t left = count;
  std::exception_ptr failure;
  const auto end = [&](std::size_t tasks, const std::exception_ptr& met) {
    const std::lock_guard lock(mutex);
    failure = failure ? failure : met;
    left -= tasks;
    done.notify_one();
  };
  const auto has_failed = [&] {
    const std::lock_guard lock(mutex);
    return failure != nullptr;
  };
  for (std::size_t i = 0; i < count; ++i) {
    try {
      submit([&, i] {
        std::exception_ptr met;
        try {
          if (!has_failed()) {
            task(i);
          }
        } catch (...) {
          met = std::current_exception();
        }
        end(1, met);
      });
    } catch (...) {  // no memory: those that were submitted use what is on this stack
      end(count - i, std::current_exception());
      break;
    }
  }
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return left == 0; });
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace sluice::storage
