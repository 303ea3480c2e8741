// Which is the newest step that can be trusted?
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "exec/transport/transport.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// A step that was looked at, and "" or what is wrong with it.
using StepSeen = std::function<void(std::uint64_t step, const std::string& why)>;

/// Collective; the same answer on every rank. The newest step of which every stored value can be
/// read and, where there are checksums, matches them; nothing where no step does. Steps are read
/// from the last one back until one is good, all ranks sharing each. `seen` may be empty. Errors:
/// those of opening the file.
std::optional<std::uint64_t> latest_good(exec::Transport& transport, storage::Storage& storage,
                                         const std::string& path, const StepSeen& seen = {});

}  // namespace sluice::commit
