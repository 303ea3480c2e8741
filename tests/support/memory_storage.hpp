// A file system in memory, for tests: no clock, no disk, deterministic.
//
// Invariants: a name refers to an inode, as in POSIX: a File continues to read and write its inode
// after the name was renamed, replaced or removed. Folders exist while something is in them. Times
// of modification are a count of changes, not a clock. Holes take no memory. Thread-safe; a call is
// atomic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/storage.hpp"

namespace sluice::storage {

/// The properties that the file system reports.
struct MemoryOptions {
  std::size_t alignment = 1;       ///< returned by File::alignment()
  std::uint64_t stripe_bytes = 0;  ///< returned by Storage::file_system()
  std::uint32_t stripes = 0;       ///< the same; not 0: of several servers
};

class MemoryStorage : public Storage {
 public:
  explicit MemoryStorage(MemoryOptions options = {});
  ~MemoryStorage() override;

  std::unique_ptr<File> open(const std::string& path, Access access) override;
  bool exists(const std::string& path) override;
  std::vector<std::string> list(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void remove_folder(const std::string& path) override;
  void sync_directory(const std::string& path) override;
  std::unique_ptr<Lease> lease(const std::string& path) override;
  FileSystemFacts file_system(const std::string& path) override;
  const char* name() const override { return "memory"; }

  /// All files, sorted by path.
  std::vector<std::string> paths() const;
  /// All bytes of a file (holes as zeros). Error not_found.
  std::vector<std::byte> contents(const std::string& path) const;
  /// Creates a file with these bytes, as a new inode; replaces an existing one of that name.
  void put(const std::string& path, std::span<const std::byte> bytes);
  /// An independent copy of names and bytes. Cheap: pages are shared until one side writes them.
  std::shared_ptr<MemoryStorage> clone() const;

  struct FileSystem;  // opaque

 private:
  MemoryOptions options_;
  std::shared_ptr<FileSystem> system_;  // shared with the files, which may outlive the storage
};

std::shared_ptr<MemoryStorage> make_memory(MemoryOptions options = {});

}  // namespace sluice::storage
