// A file that can be written again after a sync of it failed, and that is not written by who was
// stopped until another writer had its lease (storage/lease_watch.hpp).
//
// Invariant: a failed sync is never retried on the same descriptor: the kernel may have dropped the
// bytes and would report success. After reopening the file, everything that was not synced must be
// written again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "layout/formats/stores.hpp"
#include "storage/file_lock.hpp"
#include "storage/forwarding.hpp"
#include "storage/lease_watch.hpp"
#include "storage/named_file.hpp"

namespace sluice::commit {

class ReopenableFile final : public storage::ForwardingFile {
 public:
  ReopenableFile(storage::Storage& storage, const std::string& path, storage::Access access)
      : ReopenableFile(storage, layout::open_data(storage, path, access)) {}
  ReopenableFile(storage::Storage& storage, std::unique_ptr<storage::File> file)
      : ForwardingFile(std::move(file)), storage_(storage) {}

  bool sync_failed() const noexcept { return sync_failed_; }

  /// After a failed sync: another descriptor of the file, which is now at `path`. Error
  /// changed_outside: another file is there.
  void renew(const std::string& path) {
    if (sync_failed_) {
      auto again = layout::open_data(storage_, path, storage::Access::read_write);
      if (again->identity() != inner().identity()) {
        throw storage::moved_error(path, "");
      }
      if (is_locked_) {
        storage::require_share_lock(*again);
      }
      hand_on_to(std::move(again));
      sync_failed_ = false;
    }
  }

  /// Keeps out HDF5 programs that write the file, not those that read it. Error locked.
  void hold_lock() {
    storage::require_share_lock(inner());
    is_locked_ = true;
  }

  /// From now on writes look at the lease of `path`, which is held, where the ranks were stopped.
  void watch_lease(const std::string& path, storage::LeaseWatch::Clock clock = nullptr) {
    if (storage_.whole_files(path) == nullptr) {  // where there is no record
      watch_ = std::make_unique<storage::LeaseWatch>(path, clock);
    }
  }

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    check_lease();
    inner().write(offset, bytes);
  }
  void sync() override {
    try {
      inner().sync();
    } catch (...) {
      sync_failed_ = true;
      throw;
    }
  }
  bool is_collective() const override { return inner().is_collective(); }
  void write_collective(std::span<const storage::WritePiece> pieces) override {
    try {
      check_lease();
    } catch (...) {
      inner().write_collective({});  // the other ranks are in that call
      throw;
    }
    inner().write_collective(pieces);
  }
  void read_collective(std::span<const storage::ReadPiece> pieces) override {
    inner().read_collective(pieces);
  }

 private:
  void check_lease() {
    if (watch_) {
      watch_->check();
    }
  }

  storage::Storage& storage_;
  std::unique_ptr<storage::LeaseWatch> watch_;
  bool sync_failed_ = false;
  bool is_locked_ = false;
};

/// An HDF5 file that is there, locked before anything in it is looked at, or changed by recovery:
/// another program may have it open. Null where something else is there, or nothing.
std::unique_ptr<ReopenableFile> lock_hdf5(storage::Storage& storage, const std::string& path);

}  // namespace sluice::commit
