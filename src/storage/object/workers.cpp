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
    if (idle_ < tasks_.size() && threads_.size() < most_) {
      threads_.push_back(start_background([this] { run(); }));
    }
  }
  changed_.notify_one();
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
  for (std::size_t i = 0; i < count; ++i) {
    submit([&, i] {
      std::exception_ptr met;
      try {
        task(i);
      } catch (...) {
        met = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      failure = failure ? failure : met;
      --left;
      done.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return left == 0; });
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace sluice::storage
