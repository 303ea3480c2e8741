// Reading and writing: every data access function of MPI-IO is one of these.
//
// Invariants: a collective call takes part with the others even if its arguments are wrong, and its
// class of error is the same on all ranks; the bytes of a write are in the file when it returns, or
// staged if the file is written behind; an individual pointer advances by what was asked for, and
// not at all if the call failed; the shared one advances before bytes are moved, because others
// follow behind them, and stays there if that fails. Where the arguments of any rank of an ordered
// call are wrong it does not advance.
#pragma once

#include <cstdint>

#include "mpiio/call.hpp"
#include "mpiio/file.hpp"

namespace sluice::mpiio {

/// One rank alone. Returns the bytes moved, counted in memory. Throws.
std::int64_t access_alone(File& file, const Call& call);
/// All ranks of the file; by shared pointer in the order of the ranks. Throws the same class on
/// all.
std::int64_t access_together(File& file, const Call& call);

/// The pairs of functions of split collectives.
enum SplitOperation : std::uint8_t {
  split_read_at,
  split_read,
  split_read_ordered,
  split_write_at,
  split_write,
  split_write_ordered,
};
void begin_split(File& file, const Call& call, int operation);
std::int64_t end_split(File& file, int operation);

}  // namespace sluice::mpiio
