// The file that all ranks mean, and its place.
#pragma once

#include <string>

#include "exec/transport/transport.hpp"
#include "model/bytes.hpp"
#include "model/file_system.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// Collective. Storage::real_path() on rank 0: a link that is changed meanwhile, or that leads
/// elsewhere on another node, leads all ranks to the same file.
std::string agreed_path(exec::Transport& transport, storage::Storage& storage,
                        const std::string& path);

/// What rank 0 detects of the place of a file; the same on every rank.
struct PlaceFacts {
  model::FileSystemFacts file_system;
  int node_cores = 1;

  /// Local.
  static PlaceFacts of(storage::Storage& storage, const std::string& path);
  void write_to(model::ByteWriter& out) const;
  static PlaceFacts read_from(model::ByteReader& in);
};

/// Does the name, as given, end in a slash, as those of folders do?
bool names_folder(const std::string& path);

/// The file that all ranks mean.
struct FilePlace {
  std::string path;
  PlaceFacts facts;
  bool names_folder = false;   ///< as given on rank 0
  std::size_t rank_cores = 1;  ///< for each rank of the run: exec::idle_cores() of all of them
};

/// Collective. agreed_path(), and what is known of its place.
FilePlace agreed_place(exec::Transport& transport, storage::Storage& storage,
                       const std::string& path);

}  // namespace sluice::commit
