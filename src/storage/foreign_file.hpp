// What only files need that other programs change at the same time, by rules that are not ours.
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

/// A range of a file that is locked until this is destroyed; the File outlives it.
class RangeLock {
 public:
  virtual ~RangeLock() = default;
};

/// Waits until nobody else (another File or process) has locked a part of the range, or, where it
/// is not exclusive, locked it exclusively. nullptr: the range is empty. Errors: io where the file
/// system has no locks; unsupported where the file is none of the operating system's.
std::unique_ptr<RangeLock> lock_range(File& file, const ByteRange& range, bool is_exclusive);

/// A file that must exist, for one who may write it and not read it: read() fails.
std::unique_ptr<File> open_to_write(const std::string& path);

}  // namespace sluice::storage
