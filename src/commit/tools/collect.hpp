// Bringing the parts of a set into one folder, from wherever the ranks can see them.
//
// The order of things: every part is copied under a temporary name, synced, given its own; when all
// are there, the index is written anew; then the old parts are removed, where they are this
// index's own (remove_part). A crash in between leaves the old set whole, and copies that the next
// attempt replaces.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "exec/transport/transport.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

struct CollectOptions {
  std::string to = {};  ///< folder for the parts; empty: `<index>.parts`
  bool keep = false;    ///< leave the parts where they were, too
};

struct Collected {
  std::uint64_t parts = 0;  ///< of the set
  std::uint64_t moved = 0;  ///< the others were there already
  std::uint64_t bytes = 0;  ///< of those that were moved
  std::uint64_t left = 0;   ///< of those that were moved: still there too, see remove_part()
};

/// Bytes copied so far by all ranks together (about), and in all.
using CopyProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Collective; the same answer on every rank. A part is copied by a rank that sees it, so run it on
/// the nodes whose scratch holds the parts. Memory: 4 MiB a rank. Errors: those of opening the
/// index for appending; not_found, format, ... of a part that no rank sees whole; exists where the
/// folder has another file of a part's name.
Collected collect(exec::Transport& transport, storage::Storage& storage,
                  const std::string& index_path, const CollectOptions& options,
                  const CopyProgress& progress = {});

}  // namespace sluice::commit
