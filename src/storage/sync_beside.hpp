// Syncs a file in a thread while the caller syncs another one: two at the same time wait about as
// long as one, because the disk (and the journal of its file system) is asked once for both. The
// thread is kept, for starting one takes a good part of a quick sync.
//
// A forked process has no such thread: what may be deleted there holds the object by a HomePtr.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "storage/background_thread.hpp"
#include "storage/storage.hpp"

namespace sluice::storage {

class SyncBeside {
 public:
  /// Of files of `storage`, which must outlive the object.
  explicit SyncBeside(Storage& storage, Cores cores = Cores::any)
      : storage_(storage), cores_(cores) {}
  ~SyncBeside();
  SyncBeside(const SyncBeside&) = delete;
  SyncBeside& operator=(const SyncBeside&) = delete;

  /// `file` may only be read until finish(), which has to follow. Where the storage may not be used
  /// by a thread, or none is to be had, finish() does it all.
  void begin(File& file);
  /// Waits for the sync. Returns its failure. Does nothing where none was begun.
  [[nodiscard]] std::exception_ptr finish();

 private:
  bool has_thread();
  void run();

  Storage& storage_;
  const Cores cores_;
  std::mutex mutex_;
  std::condition_variable changed_;
  File* file_ = nullptr;  ///< to be synced
  bool is_begun_ = false;
  bool is_done_ = false;
  std::exception_ptr failure_;
  bool ends_ = false;
  std::thread thread_;
};

/// A sync of a file, none where it is null, that has ended when the scope does.
class SyncInScope {
 public:
  SyncInScope(SyncBeside& sync, File* file) : sync_(sync) {
    if (file != nullptr) sync_.begin(*file);
  }
  SyncInScope(const SyncInScope&) = delete;
  SyncInScope& operator=(const SyncInScope&) = delete;
  ~SyncInScope() { static_cast<void>(sync_.finish()); }
  /// Throws its failure.
  void finish() const {
    if (const std::exception_ptr failure = sync_.finish()) std::rethrow_exception(failure);
  }

 private:
  SyncBeside& sync_;
};

}  // namespace sluice::storage
