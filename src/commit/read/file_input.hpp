// One file that is being read, for those who read from it; each part of a set is one of its own.
//
// Invariant: only rank 0 reads the file's metadata, the others receive a FileView.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "commit/read/file_view.hpp"
#include "commit/read/root_catalog.hpp"
#include "commit/read/source_file.hpp"
#include "exec/transport/transport.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

struct FileInput {
  /// Collective. `ranks` and `place` must outlive the object. If the path is a symbolic link,
  /// every rank reads the target that it has on rank 0.
  FileInput(exec::Transport& ranks, storage::Storage& place, const std::string& path,
            const Options& asked);
  FileInput(const FileInput&) = delete;

  const std::string& path() const noexcept { return view.contents().path; }
  /// Collective. Reads the file's metadata again, for what is read from now on, if it was changed
  /// since; the view stays, and is of a part of the file then. False, on every rank: it was not, or
  /// it has another content; or `may_follow` is false on rank 0.
  bool follow(bool may_follow) const;

  exec::Transport& transport;
  storage::Storage& storage;
  Options options;                    ///< its readers and budget are those of rank 0
  std::unique_ptr<RootCatalog> root;  ///< on rank 0
  FileView view;
  std::unique_ptr<SourceFile> source;
  std::size_t rank_cores = 1;            ///< for each rank of the run
  std::vector<std::uint64_t> set_words;  ///< of the index of a set: PartSet::words(); else empty
};

}  // namespace sluice::commit
