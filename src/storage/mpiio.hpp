// Files by MPI-IO: what the MPI library offers for its file system, hints included.
//
// Invariants: MPI calls are made by the caller's thread only, so nothing is written in the
// background; a file opened by one rank belongs to MPI_COMM_SELF and its calls are independent; one
// opened together belongs to a communicator of the participating ranks, and closing it is
// collective over them. Syncs, sizes, names and times use POSIX calls on the same inode: these need
// no deadline, and a sync flushes whatever MPI-IO wrote. Collective calls of MPI-IO have no
// deadline.
#pragma once

#include <memory>
#include <string>

#include "sluice/comm.hpp"
#include "storage/storage.hpp"

namespace sluice::storage {

/// Collective over `comm`, which is duplicated. `hints`: "key=value,key=value" for MPI_Info, passed
/// on unchanged (an MPI library ignores unknown ones). Error invalid_argument if they do not parse,
/// mpi if the process has no suitable MPI.
std::shared_ptr<Storage> make_mpiio(const Comm& comm, const std::string& hints);

}  // namespace sluice::storage
