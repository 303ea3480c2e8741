// Moves the parts of a set into one folder, from wherever the ranks can see them.
//
// The order: every part is copied under a temporary name, synced and renamed; when all are
// complete, the index is rewritten; then the old parts are removed, if they belong to this index
// (remove_part). A crash in between leaves the old set whole, and copies that the next attempt
// replaces.
#pragma once

#include <cstdint>
#include <string>

#include "commit/tools/copy_meter.hpp"
#include "exec/transport/transport.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

struct CollectOptions {
  std::string to = {};  ///< folder for the parts; empty: `<index>.parts`
  bool keep = false;    ///< also keep the parts where they were
};

struct Collected {
  std::uint64_t parts = 0;  ///< of the set
  std::uint64_t moved = 0;  ///< the others were in the folder already
  std::uint64_t bytes = 0;  ///< of those that were moved
  std::uint64_t left = 0;   ///< of those that were moved: not removed, see remove_part()
};

/// Collective; the same result on every rank. A part is copied by a rank that sees it, so run it on
/// the nodes whose scratch holds the parts. Memory: 4 MiB for each rank. Errors: those of opening
/// the index for appending; not_found, format, ... of a part that no rank sees whole; exists if the
/// folder has another file with a part's name.
Collected collect(exec::Transport& transport, storage::Storage& storage,
                  const std::string& index_path, const CollectOptions& options,
                  const CopyProgress& progress = {});

}  // namespace sluice::commit
