// Which options of a checkpoint go together, and which of them settings for all files do not reach.
#pragma once

#include <string>

#include "api/open_context.hpp"
#include "sluice/checkpoint.hpp"
#include "storage/storage.hpp"

namespace sluice::detail {

/// How the file of checkpoints is opened. Some options are its own: those that the checkpoint sets,
/// or that decide where its parts are and which of them stay. Set for all files they are meant for
/// output: they would drop checkpoints, or move them from stable storage to a disk of the node.
OpenRequest request_of(const std::string& path, const CheckpointOptions& options);

/// Local. `options.file`: the effective ones. Error invalid_argument where they do not go together.
void check_options(const std::string& path, const CheckpointOptions& options);
/// Local. The format of the file. Error unsupported where it, or the storage, cannot keep so many.
const layout::Format& format_for(const std::string& path, const CheckpointOptions& options,
                                 storage::Storage& storage);

}  // namespace sluice::detail
