// Files by MPI-IO: what an MPI library has to offer for its file system, hints included.
//
// Invariants: MPI calls are made by the caller's thread only, so nothing is written in the
// background; a file opened alone belongs to MPI_COMM_SELF and its calls are independent; one
// opened together belongs to a communicator of those that take part, and closing it is collective
// over them. Syncs, sizes, names and times go by POSIX calls on the same inode: they have no
// deadline problem, and a sync flushes whatever MPI-IO wrote. Collective calls of MPI-IO have no
// deadline.
#pragma once

#include <memory>
#include <string>

#include "sluice/comm.hpp"
#include "storage/storage.hpp"

namespace sluice::storage {

/// Collective over `comm`, which is duplicated. `hints`: "key=value,key=value" for MPI_Info, handed
/// through as they are (an MPI library ignores those that it does not know). Error invalid_argument
/// where they do not parse, mpi where the process has no MPI that fits.
std::shared_ptr<Storage> make_mpiio(const Comm& comm, const std::string& hints);

}  // namespace sluice::storage
