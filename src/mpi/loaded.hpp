// Which MPIs the process has loaded. Includes no mpi.h; calls only the functions that return
// versions.
#pragma once

#include <string>
#include <vector>

namespace sluice::mpi {

/// An MPI in this process.
struct LoadedMpi {
  void* handle =
      nullptr;        ///< of dlopen(), kept open; RTLD_DEFAULT where the program's own calls go
  std::string said;   ///< the full text of MPI_Get_library_version
  std::string place;  ///< path of the file that contains it
  std::string abi;    ///< "Open MPI", "MPICH", "MPI 5"; empty: unknown

  /// Between MPI_Init and MPI_Finalize?
  bool is_running() const;
};
/// First the one that the program's own calls reach, then the others in the order of loading.
std::vector<LoadedMpi> loaded_mpis();

}  // namespace sluice::mpi
