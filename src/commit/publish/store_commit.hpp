// How a store advances from one commit to the next: small files are replaced by rename, and the
// manifest decides. docs/durability.md (Zarr stores) has the cases.
#pragma once

#include <set>
#include <string>

#include "layout/layout.hpp"
#include "storage/store.hpp"

namespace sluice::commit {

/// The parts of a store that are not on stable storage yet: paths of files, and of objects in
/// folders whose entries changed.
struct Unsynced {
  std::set<std::string> files;
  std::set<std::string> entries;

  /// The folders of `path`, from `top` (the store's own) to the innermost.
  void add_folders(const std::string& top, const std::string& path);
  void sync(storage::Storage& storage);
};

/// Replaces (or creates) a file of the store at `top`; with `synced` no crash leaves a part of it.
/// One that is_once stays as it is, if it is there. What remains to be synced is added.
void replace_document(storage::Storage& storage, const std::string& top,
                      const layout::Document& document, std::int64_t modified_ns, bool synced,
                      Unsynced& unsynced);

/// Makes visible what the manifest describes. Error if the commit failed; it is `in_doubt` if a
/// crash would decide. False if it succeeded, but some file is still in the old state: recovery
/// will correct it.
bool publish_store(storage::Storage& storage, const std::string& top,
                   const layout::MetadataUpdate& update, bool synced, std::int64_t modified_ns,
                   Unsynced& unsynced, bool& in_doubt);

/// Brings the files of a store to the state of its manifest; returns how many differed. With
/// `dry_run` changes nothing.
std::uint64_t recover_store(storage::Storage& storage, const std::string& top, bool dry_run);

}  // namespace sluice::commit
