// A file that can be written again after a sync of it failed.
//
// Invariant: a failed sync is never tried again on the same descriptor: the kernel may have dropped
// the bytes and then says yes. Who renews the file has to write again whatever was not synced.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "storage/storage.hpp"

namespace sluice::commit {

class RenewableFile final : public storage::File {
 public:
  RenewableFile(storage::Storage& storage, const std::string& path, storage::Access access)
      : RenewableFile(storage, storage.open(path, access)) {}
  RenewableFile(storage::Storage& storage, std::unique_ptr<storage::File> file)
      : storage_(storage), inner_(std::move(file)) {}

  bool sync_failed() const noexcept { return sync_failed_; }

  /// Where a sync failed: another descriptor of the file, which is at `path` now.
  void renew(const std::string& path) {
    if (sync_failed_) {
      inner_ = storage_.open(path, storage::Access::read_write);
      sync_failed_ = false;
    }
  }

  void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    inner_->write(offset, bytes);
  }
  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    return inner_->read(offset, bytes);
  }
  void preallocate(std::uint64_t offset, std::uint64_t length) override {
    inner_->preallocate(offset, length);
  }
  void sync() override {
    try {
      inner_->sync();
    } catch (...) {
      sync_failed_ = true;
      throw;
    }
  }
  std::uint64_t size() override { return inner_->size(); }
  void resize(std::uint64_t bytes) override { inner_->resize(bytes); }
  void set_modified_ns(std::int64_t ns) override { inner_->set_modified_ns(ns); }
  std::int64_t modified_ns() override { return inner_->modified_ns(); }
  std::size_t alignment() const override { return inner_->alignment(); }
  void drop_cache() override { inner_->drop_cache(); }
  const std::string& path() const override { return inner_->path(); }

 private:
  storage::Storage& storage_;
  std::unique_ptr<storage::File> inner_;
  bool sync_failed_ = false;
};

}  // namespace sluice::commit
