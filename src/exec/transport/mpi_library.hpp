// Which MPI the library was built for, and which one the process runs.
#pragma once

#include <string>

namespace sluice::exec {

/// The MPI that the library was built for, in that MPI's own words where it answers itself.
const std::string& mpi_library();
/// Error mpi where the process runs an MPI of another kind: its handles mean nothing to this
/// library, whose calls would end the program or hang.
void require_own_mpi();

}  // namespace sluice::exec
