// Functions for files that other programs change at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "storage/storage.hpp"

namespace sluice::storage {

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// A range of a file that is locked until this object is destroyed; the File must outlive it.
class RangeLock {
 public:
  virtual ~RangeLock() = default;
};

/// Waits until no other File or process holds a lock of a part of the range (for a shared lock: an
/// exclusive lock). nullptr: the range is empty. Errors: io if the file system has no locks;
/// unsupported if the file is not one of the operating system.
std::unique_ptr<RangeLock> lock_range(File& file, const ByteRange& range, bool is_exclusive);

/// Opens an existing file for a user who may write but not read it: read() fails.
std::unique_ptr<File> open_to_write(const std::string& path);

}  // namespace sluice::storage
