// Verifies a set of parts: every part by its own checksums, and the index against the parts.
#pragma once

#include "commit/read/input.hpp"
#include "commit/tools/verify.hpp"

namespace sluice::commit {

/// Collective; the same verdict on every rank. `input`: the index, open; the existence of its parts
/// was checked. Parts are shared among the ranks; if there are fewer parts than ranks, all ranks
/// work on one after the other. Findings name the part, and the step of the whole.
Verdict verify_parts(exec::Transport& transport, storage::Storage& storage, Input& input,
                     const VerifyProgress& progress);

}  // namespace sluice::commit
