// A sync of one file while the caller syncs another one: two at the same time wait about as long as
// one, because the disk (and the journal of its file system) is asked once for both.
#pragma once

#include <exception>
#include <thread>

#include "storage/storage.hpp"

namespace sluice::plugin {

class SyncBehind {
 public:
  /// Begins, in a thread where the storage may be used by one; else finish() does it. `file` must
  /// outlive the object, and be left alone until then.
  SyncBehind(storage::Storage& storage, storage::File& file);
  /// Waits for it.
  ~SyncBehind();
  SyncBehind(const SyncBehind&) = delete;
  SyncBehind& operator=(const SyncBehind&) = delete;

  /// Once. Errors: those of the sync.
  void finish();

 private:
  void sync() noexcept;

  storage::File& file_;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace sluice::plugin
