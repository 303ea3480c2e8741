// Finds the newest step that can be trusted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "commit/read/input.hpp"
#include "exec/transport/transport.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// A step of `input` that was checked, and "" or what is wrong with it; the file may have lost it
/// meanwhile. False: stop.
using StepSeen = std::function<bool(Input& input, std::uint64_t step, const std::string& why)>;

/// Collective. Reads every stored value of the steps from the last one back, all ranks sharing
/// each, and calls `seen`, the same on every rank, with the result: whether it can be read and, if
/// there are checksums, matches them. Of a step with an Input::absent_part() nothing is read.
/// Errors: those of opening the file.
void look_back(exec::Transport& transport, storage::Storage& storage, const std::string& path,
               const StepSeen& seen);

/// Collective; the same result on every rank. The newest step that is good; empty if no step is.
/// `seen` may be empty; the others are checked whatever it returns.
std::optional<std::uint64_t> latest_good(
    exec::Transport& transport, storage::Storage& storage, const std::string& path,
    const std::function<void(std::uint64_t step, const std::string& why)>& seen = {});

}  // namespace sluice::commit
