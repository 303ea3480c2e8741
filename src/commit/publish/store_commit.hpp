// How a store goes from one commit to the next: small files replaced by rename, the manifest being
// the one that counts. docs/durability.md has the case analysis.
#pragma once

#include <set>
#include <string>

#include "layout/layout.hpp"
#include "storage/store.hpp"

namespace sluice::commit {

/// What of a store is not on stable storage yet: paths of files, and of what lies in folders whose
/// entries changed.
struct Unsynced {
  std::set<std::string> files;
  std::set<std::string> entries;

  /// The folders of `path`, from `top` (the store's own) to the innermost.
  void add_folders(const std::string& top, const std::string& path);
  void sync(storage::Storage& storage);
};

/// Replaces (or makes) a file of the store at `top`; with `synced` no crash leaves a part of it.
/// What is left to be synced is added.
void replace_document(storage::Storage& storage, const std::string& top,
                      const layout::Document& document, std::int64_t modified_ns, bool synced,
                      Unsynced& unsynced);

/// Makes what the manifest says visible. Error where the commit is not there; it is `in_doubt`
/// where a crash would decide. False where it is there, but some file still says the old: recovery
/// will put it right.
bool publish_store(storage::Storage& storage, const std::string& top,
                   const layout::MetadataUpdate& update, bool synced, std::int64_t modified_ns,
                   Unsynced& unsynced, bool& in_doubt);

/// Brings the files of a store to what its manifest says; returns how many did not. With `dry_run`
/// changes nothing.
std::uint64_t recover_store(storage::Storage& storage, const std::string& top, bool dry_run);

}  // namespace sluice::commit
