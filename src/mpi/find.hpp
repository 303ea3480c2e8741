// Which MPIs the process has loaded, and which part of the library calls each of them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mpi/library.hpp"
#include "mpi/loaded.hpp"

namespace sluice::mpi {

/// The calls of one ABI, compiled with an mpi.h of that ABI.
struct Part {
  const char* abi = nullptr;  ///< "Open MPI", "MPICH", "MPI 5"
  Bind bind = nullptr;
};
/// The ABIs that the library was built with.
std::span<const Part> parts();

/// An MPI in this process.
struct Candidate : LoadedMpi {
  const Part* part = nullptr;  ///< null: the library was not built for it
};
/// First the one that the program's own calls reach, then the others in the order of loading.
std::vector<Candidate> candidates();

/// Binds the part to its MPI; an empty library if a function is missing, whose name is then in
/// `missing`.
Library bind(const Candidate& candidate, std::string& missing);

/// Loads the libmpi that SLUICE_MPI names, else the one beside the launcher, else one that the
/// loader finds. The places that were tried are appended to `tried`.
void load_of_launcher(std::string& tried);

}  // namespace sluice::mpi
