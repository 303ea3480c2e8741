// Where the file lies that all ranks mean by a path.
#pragma once

#include <string>

#include "exec/transport/transport.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// Collective. Storage::real_path() as rank 0 finds it: a link that is changed meanwhile, or that
/// leads elsewhere on another node, leads all ranks to the same file.
std::string agreed_path(exec::Transport& transport, storage::Storage& storage,
                        const std::string& path);

}  // namespace sluice::commit
