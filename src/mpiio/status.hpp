// Statuses and requests: how a program hears of what was done.
//
// Invariant: a request is complete before the call that made it returns. Completing one is a call
// of MPI, which no thread of ours may make where the program asked for one thread only.
#pragma once

#include <cstdint>

#include "mpiio/mpi.hpp"

namespace sluice::mpiio {

/// Any count that a program asks of it, by any datatype, is then right. Not where it is ignored.
void set_status(MPI_Status* status, std::int64_t bytes);
/// A generalised request that is complete, and whose status says `bytes`.
void make_request(MPI_Request* request, std::int64_t bytes);

}  // namespace sluice::mpiio
