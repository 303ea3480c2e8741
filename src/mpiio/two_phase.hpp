// Collective access in two phases: some ranks write and read whole windows of the file, and all
// exchange the bytes with them by messages.
//
// Invariants: every rank takes part in every round, even after a failure, which is thrown when the
// rounds are over. A rank holds one window, one batch of messages of others, and its own bytes of
// one round if its memory is scattered: all of bounded size. A rank sends bytes of a round only
// when those of the round before are expected, so an aggregator has those of two rounds waiting at
// most. Holes are never read and written back.
#pragma once

#include <span>

#include "mpiio/domains.hpp"
#include "mpiio/memory.hpp"
#include "mpiio/mpi.hpp"
#include "mpiio/sink.hpp"
#include "mpiio/straight.hpp"
#include "mpiio/view.hpp"

namespace sluice::mpiio {

/// Reads a window inside the file. Error truncated if the file became shorter.
void read_window(const Run& window, std::byte* bytes, Straight& file);

/// For an ascending view; collective. `ranges`: what each rank accesses.
void write_together(MPI_Comm comm, Sink& sink, const View& view, std::int64_t stream,
                    const Memory& memory, const Domains& domains, std::span<const Run> ranges);
/// The same for reading; no rank requests bytes beyond the end of the file.
void read_together(MPI_Comm comm, Straight& file, const View& view, std::int64_t stream,
                   const Memory& memory, const Domains& domains, std::span<const Run> ranges);

}  // namespace sluice::mpiio
