// Data access of one rank by itself: between its memory and the runs of its view.
//
// Invariants: a write touches no byte beside its runs (holes are never read and written back, so no
// other writer's bytes are lost and only NFS needs locks); memory beside the caller's is bounded by
// buffer_bytes.
#pragma once

#include "mpiio/memory.hpp"
#include "mpiio/sink.hpp"
#include "mpiio/straight.hpp"
#include "mpiio/view.hpp"

namespace sluice::mpiio {

/// The size of a buffer between scattered memory and the file, and of what is read at once.
inline constexpr std::int64_t buffer_bytes = std::int64_t{4} << 20;

/// Writes all of `memory`, or throws.
void write_own(Sink& sink, const View& view, std::int64_t stream, const Memory& memory);
/// Reads up to all of `memory`, fewer bytes only if the file ends. Returns the number of bytes.
std::int64_t read_own(Straight& file, const View& view, std::int64_t stream, const Memory& memory);

}  // namespace sluice::mpiio
