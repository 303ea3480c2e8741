// The right to write a file: its lease, and that it is still at its path.
//
// To be asked before a file, its journal or anything else beside it is changed: where the lease was
// lost, or the file moved, they may be another writer's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "storage/storage.hpp"

namespace sluice::plugin {

class GuardedFile;

class Claim {
 public:
  /// Takes the lease of `path`. Error locked names who has it.
  Claim(storage::Storage& storage, std::string path);

  /// Error locked.
  void require_lease() const;
  bool has_lease() const noexcept;
  /// It has the lease, and `file` is at `present_path`: true. False: it is_removed(), perhaps with
  /// its lease. Error locked, changed_outside: also where the file is shorter than its last commit.
  bool require_place(const std::string& present_path, const GuardedFile& file);
  bool has_place(const std::string& present_path, const GuardedFile& file) noexcept;
  /// As require_place(), which is one look for all writes since the last commit.
  void require_place_once(const std::string& present_path, const GuardedFile& file);
  /// `file` was removed, and no other one is at its path.
  bool is_removed(const std::string& present_path, const GuardedFile& file);
  /// A commit, or the opening: the file has at least `bytes` bytes.
  void note_commit(std::uint64_t bytes) noexcept {
    has_looked_ = false;
    least_bytes_ = bytes;
  }
  void release() noexcept { lease_.reset(); }

 private:
  storage::Storage& storage_;
  const std::string path_;
  std::unique_ptr<storage::Lease> lease_;  ///< null where the storage has none
  std::uint64_t least_bytes_ = 0;          ///< unless another program has cut it
  bool has_looked_ = false;                ///< since the last commit
};

}  // namespace sluice::plugin
