// A file that can be written again after a sync of it failed.
//
// Invariant: a failed sync is never retried on the same descriptor: the kernel may have dropped the
// bytes and would report success. After reopening the file, everything that was not synced must be
// written again.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "layout/formats/stores.hpp"
#include "storage/forwarding.hpp"
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
      hand_on_to(std::move(again));
      sync_failed_ = false;
    }
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
    inner().write_collective(pieces);
  }
  void read_collective(std::span<const storage::ReadPiece> pieces) override {
    inner().read_collective(pieces);
  }

 private:
  storage::Storage& storage_;
  bool sync_failed_ = false;
};

}  // namespace sluice::commit
