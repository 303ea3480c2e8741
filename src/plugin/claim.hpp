// The right to write a file: its lease, and that it is still at its path.
//
// To be asked before a file, its journal or anything else beside it is changed: where the lease was
// lost, or the file moved, they may be another writer's.
#pragma once

#include <memory>
#include <string>

#include "sluice/error.hpp"
#include "storage/storage.hpp"

namespace sluice::plugin {

class Claim {
 public:
  /// Takes the lease of `path`. Error locked names who has it.
  Claim(storage::Storage& storage, std::string path);

  /// Error locked.
  void require_lease() const;
  bool has_lease() const noexcept;
  /// It has the lease, and the file of `identity` is at `present_path`. Error locked,
  /// changed_outside.
  void require_place(const std::string& present_path, const storage::FileIdentity& identity);
  bool has_place(const std::string& present_path, const storage::FileIdentity& identity) noexcept;
  /// As require_place(), which is one look for all writes since the last commit.
  void require_place_once(const std::string& present_path, const storage::FileIdentity& identity);
  void note_commit() noexcept { has_looked_ = false; }
  void release() noexcept { lease_.reset(); }

 private:
  storage::Storage& storage_;
  const std::string path_;
  std::unique_ptr<storage::Lease> lease_;  ///< null where the storage has none
  bool has_looked_ = false;                ///< since the last commit
};

/// Is the file at `path`, which is no symbolic link, the one of `identity`?
bool is_at(storage::Storage& storage, const std::string& path,
           const storage::FileIdentity& identity);

/// Error changed_outside of a file that is not at its path any more.
Error moved_error(const std::string& path);

}  // namespace sluice::plugin
