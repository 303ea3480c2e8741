// Which is the newest step that can be trusted?
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "exec/transport/transport.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// A step that was looked at, and "" or what is wrong with it. False: no further one is wanted.
using StepSeen = std::function<bool(std::uint64_t step, const std::string& why)>;

/// Collective. Reads every stored value of the steps from the last one back, all ranks sharing
/// each, and tells `seen`, the same on every rank, whether it can be read and, where there are
/// checksums, matches them. Errors: those of opening the file.
void look_back(exec::Transport& transport, storage::Storage& storage, const std::string& path,
               const StepSeen& seen);

/// Collective; the same answer on every rank. The newest step that is good; nothing where no step
/// is. `seen` may be empty; the others are looked at whatever it answers.
std::optional<std::uint64_t> latest_good(
    exec::Transport& transport, storage::Storage& storage, const std::string& path,
    const std::function<void(std::uint64_t step, const std::string& why)>& seen = {});

}  // namespace sluice::commit
