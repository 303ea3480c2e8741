// The options about who writes, made the same on every rank.
#pragma once

#include <string>

#include "exec/transport/transport.hpp"
#include "plan/plan.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// Collective. Rank 0's options are used; tile_bytes 0 becomes the stripe of the file system that
/// holds `path`, else the default. `rates`, unless null, gets what rank 0 detects of that file
/// system and of its node; null on all ranks or on none. Error invalid_argument, on every rank, if
/// `tiles` is invalid.
plan::WriterChoice choose_writers(exec::Transport& transport, storage::Storage& storage,
                                  const std::string& path, const Options& options,
                                  plan::MachineRates* rates = nullptr);

/// How an output is opened if it may consist of several files.
struct FilesChoice {
  std::string strategy;  ///< file-per-process, file-per-node, or auto: one file
  std::string reason;    ///< a sentence
};

/// Collective. The result of plan::decide_files() on rank 0; the same on every rank.
FilesChoice choose_files(exec::Transport& transport, storage::Storage& storage,
                         const std::string& path, const Options& options);

/// Collective. The ranks and nodes of a transport, as far as `choice` uses them.
plan::Topology topology_of(exec::Transport& transport, const plan::WriterChoice& choice);

}  // namespace sluice::commit
