// Where a checkpoint's files are, whatever the program's current folder is later.
#pragma once

#include <string>

#include "api/checkpoint/scratch.hpp"
#include "exec/transport/agree.hpp"
#include "storage/storage.hpp"

namespace sluice::detail {

/// Collective, with the failures `before`. Relative names become those of rank 0's current folder:
/// the file is opened again and again, which must find it where the first one did. A link is
/// followed by each, as it was named. `scratch` may be null.
void complete_paths(exec::Transport& transport, storage::Storage& storage, std::string& path,
                    std::string& parts_dir, Scratch* scratch, const exec::Failures& before);

}  // namespace sluice::detail
