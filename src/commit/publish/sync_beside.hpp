// Syncs a file in a thread while the caller syncs another one: two at the same time wait about as
// long as one. The thread is kept, for starting one takes a good part of a quick sync.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "storage/storage.hpp"

namespace sluice::commit {

class SyncBeside {
 public:
  SyncBeside() = default;
  ~SyncBeside();
  SyncBeside(const SyncBeside&) = delete;
  SyncBeside& operator=(const SyncBeside&) = delete;

  /// `file` must be left alone until finish(), which has to follow.
  void begin(storage::File& file);
  /// Waits for the sync. Returns its failure.
  std::exception_ptr finish();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  storage::File* file_ = nullptr;  ///< to be synced
  bool is_done_ = false;
  std::exception_ptr failure_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sluice::commit
