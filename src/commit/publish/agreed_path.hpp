// The path of the file that all ranks mean.
#pragma once

#include <string>

#include "exec/transport/transport.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// Collective. Storage::real_path() on rank 0: a link that is changed meanwhile, or that leads
/// elsewhere on another node, leads all ranks to the same file.
std::string agreed_path(exec::Transport& transport, storage::Storage& storage,
                        const std::string& path);

}  // namespace sluice::commit
