// Statuses and requests: how a program learns what was done.
//
// Invariant: a request is complete before the call that created it returns. Completing one is a
// call of MPI, which no thread of the library may make if the program requested one thread only.
#pragma once

#include <cstdint>

#include "mpiio/mpi.hpp"

namespace sluice::mpiio {

/// Makes any count correct that a program queries, with any datatype. Not if it is ignored.
void set_status(MPI_Status* status, std::int64_t bytes);
/// A generalised request that is complete, and whose status says `bytes`.
void make_request(MPI_Request* request, std::int64_t bytes);

}  // namespace sluice::mpiio
