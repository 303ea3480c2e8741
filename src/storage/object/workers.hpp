// Threads that carry out requests of an object store, several at a time.
//
// Invariants: at most `most` threads; they are started when there is work, and what no thread can
// be had for the caller does; the destructor waits for what was begun, which its deadlines end, and
// drops the rest.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sluice::storage {

class Workers {
 public:
  explicit Workers(std::size_t most) : most_(most) { threads_.reserve(most); }
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// `task` must not throw, and takes no lock that the caller has: where there is no thread it is
  /// carried out before this returns.
  void submit(std::function<void()> task);
  /// Carries out `task(i)` for i in [0, count), and waits; rethrows the first failure, after which
  /// none is begun.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& task);

 private:
  bool has_thread();
  void run();

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool is_over_ = false;
};

}  // namespace sluice::storage
