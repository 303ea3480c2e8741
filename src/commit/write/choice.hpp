// The options about who writes, with what is known of the place of the file.
#pragma once

#include <string>

#include "commit/publish/agreed_path.hpp"
#include "exec/transport/transport.hpp"
#include "plan/machine_rates.hpp"
#include "plan/plan.hpp"
#include "sluice/options.hpp"

namespace sluice::commit {

/// Of the options, else of the file system; 0: none.
std::uint64_t stripe_of(const Options& options, const PlaceFacts& facts);

/// Of options and facts that are the same on every rank; tile_bytes 0 becomes the stripe of the
/// file system, else the default. Error invalid_argument if `tiles` is invalid.
plan::WriterChoice choose_writers(const Options& options, const PlaceFacts& facts);

/// What strategy auto calculates with there.
plan::MachineRates rates_of(const Options& options, const PlaceFacts& facts);

/// How an output is opened if it may consist of several files.
struct FilesChoice {
  std::string strategy;  ///< file-per-process, file-per-node, or auto: one file
  std::string reason;    ///< a sentence
};

/// Collective. The result of plan::decide_files() on rank 0; the same on every rank.
FilesChoice choose_files(exec::Transport& transport, const Options& options,
                         const PlaceFacts& facts);

/// Collective. The ranks and nodes of a transport, as far as `choice` uses them.
plan::Topology topology_of(exec::Transport& transport, const plan::WriterChoice& choice);

}  // namespace sluice::commit
