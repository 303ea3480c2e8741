// Verifies a set of parts: every part by its own checksums, and the index against the parts.
#pragma once

#include <functional>
#include <string>

#include "commit/read/input.hpp"
#include "commit/tools/findings.hpp"
#include "exec/transport/transport.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// Verifies one part: verify_part().
using VerifyPart = std::function<Verdict(exec::Transport& transport, storage::Storage& storage,
                                         const std::string& path, const UnitVolumes& volumes,
                                         const VerifyProgress& progress)>;

/// Collective; the same verdict on every rank. `input`: the index, open; the existence of its parts
/// was checked. Parts are shared among the ranks; if there are fewer parts than ranks, all ranks
/// work on one after the other. Findings name the part, and the step of the whole.
Verdict verify_parts(exec::Transport& transport, storage::Storage& storage, Input& input,
                     const VerifyPart& verify_part, const VerifyProgress& progress);

}  // namespace sluice::commit
