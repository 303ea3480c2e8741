// Changes of a file that are durable in its journal and not yet in place, laid over what the writer
// itself reads of the file.
//
// Invariant: a read sees all of them or, once they are in place, none, whichever thread puts them
// there meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "model/overlay.hpp"
#include "storage/forwarding.hpp"

namespace sluice::commit {

class PendingChanges {
 public:
  std::size_t read(storage::File& file, std::uint64_t offset, std::span<std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    const std::size_t got = file.read(offset, bytes);
    changes_.read_over(offset, bytes.first(got));
    return got;
  }
  model::Overlay copy() const {
    const std::lock_guard lock(mutex_);
    return changes_;
  }
  void set(model::Overlay changes) {
    const std::lock_guard lock(mutex_);
    changes_ = std::move(changes);
  }
  /// All are in place.
  void clear() { set({}); }

 private:
  mutable std::mutex mutex_;
  model::Overlay changes_;
};

/// A file as its last commit left it, wherever the changes of that are.
class CommittedView final : public storage::ForwardingFile {
 public:
  CommittedView(std::unique_ptr<storage::File> file, std::shared_ptr<PendingChanges> changes)
      : ForwardingFile(std::move(file)), changes_(std::move(changes)) {}
  /// `file` must outlive the object.
  CommittedView(storage::File& file, std::shared_ptr<PendingChanges> changes)
      : file_(&file), changes_(std::move(changes)) {}

  std::size_t read(std::uint64_t offset, std::span<std::byte> bytes) override {
    return changes_->read(inner(), offset, bytes);
  }

 protected:
  storage::File& inner() const override {
    return file_ != nullptr ? *file_ : ForwardingFile::inner();
  }

 private:
  storage::File* file_ = nullptr;
  std::shared_ptr<PendingChanges> changes_;
};

}  // namespace sluice::commit
