// Which MPIs the process has loaded. Knows no mpi.h; calls what says their versions alone.
#pragma once

#include <string>
#include <vector>

namespace sluice::mpi {

/// An MPI in this process.
struct LoadedMpi {
  void* handle =
      nullptr;        ///< of dlopen(), kept open; RTLD_DEFAULT where the program's own calls go
  std::string said;   ///< all that MPI_Get_library_version says
  std::string place;  ///< path of the file that answers
  std::string abi;    ///< "Open MPI", "MPICH", "MPI 5"; empty: none that is known

  /// Between MPI_Init and MPI_Finalize?
  bool is_running() const;
};
/// First the one that the program's own calls reach, then the others in the order of loading.
std::vector<LoadedMpi> loaded_mpis();

}  // namespace sluice::mpi
