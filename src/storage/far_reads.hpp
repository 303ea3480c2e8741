// What a storage has in addition that answers slowly, whatever the size of what is asked: several
// look-ups, or reads, at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/storage.hpp"

namespace sluice::storage {

struct FileRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
/// The same of a file that has a path of its own.
struct ObjectRange {
  std::string path;
  FileRange range;
};
/// Of files or objects; empty: there is none of that name.
using Sizes = std::vector<std::optional<std::uint64_t>>;

/// Of Objects.
class FarObjects {
 public:
  virtual ~FarObjects() = default;
  virtual Sizes sizes_of(std::span<const std::string> names) = 0;
  /// Does will_read() something?
  virtual bool reads_ahead() const = 0;
  /// These ranges will be read, in about this order: several are read at a time, into bounded
  /// memory, until what is returned is destroyed. A hint: what is read otherwise, or was read once,
  /// is read as ever. Any thread.
  virtual std::shared_ptr<void> will_read(std::span<const FileRange> ranges) = 0;
};

/// Of WholeFiles.
class FarFiles {
 public:
  virtual ~FarFiles() = default;
  /// One that is looked up alone counts as opened, for WholeFiles::replace().
  virtual Sizes sizes_of(std::span<const std::string> paths) = 0;
  /// As FarObjects::will_read(), of files that WholeFiles::open_unseen() opens.
  virtual std::shared_ptr<void> will_read(std::vector<ObjectRange> ranges) = 0;
};

/// The sizes of objects of `file`, in the order of `names`.
inline Sizes sizes_of(File& file, std::span<const std::string> names) {
  if (auto* const far = dynamic_cast<FarObjects*>(file.objects())) {
    return far->sizes_of(names);
  }
  Sizes sizes;
  for (const std::string& name : names) {
    sizes.push_back(file.object_bytes(name));
  }
  return sizes;
}

inline bool reads_ahead(File& file) {
  auto* const far = dynamic_cast<FarObjects*>(file.objects());
  return far != nullptr && far->reads_ahead();
}

/// As FarObjects::will_read(); nothing where reads are not far.
inline std::shared_ptr<void> will_read(File& file, std::span<const FileRange> ranges) {
  auto* const far = dynamic_cast<FarObjects*>(file.objects());
  return far == nullptr ? nullptr : far->will_read(ranges);
}

/// What `storage` has of files at `path`; null where they are not far.
inline FarFiles* far_files(Storage& storage, const std::string& path) {
  return dynamic_cast<FarFiles*>(storage.whole_files(path));
}

}  // namespace sluice::storage
