// The MPI of this process: found among what the program has loaded, and called by its own ABI.
//
// Invariants: the library is linked to no MPI. Until the first use the process is searched again at
// each question, because a program may load its MPI late (a Python program that imports mpi4py);
// from then on the same MPI is called. Of several that are loaded, the one that has been
// initialised is used, otherwise the one that the program's own calls would reach.
#pragma once

#include <string>
#include <vector>

#include "mpi/library.hpp"
#include "sluice/comm.hpp"

namespace sluice::mpi {

/// An MPI that the process has loaded.
struct Loaded {
  std::string said;         ///< text of its MPI_Get_library_version
  std::string place;        ///< path of its file
  std::string abi;          ///< "Open MPI", "MPICH", "MPI 5"; empty: none of these
  std::string trouble;      ///< why it cannot be called; empty if it can
  bool is_running = false;  ///< between MPI_Init and MPI_Finalize, as far as it can be queried
};
/// All of them, the one in use first. Local, as everything in this file.
std::vector<Loaded> loaded();

/// Is the process between MPI_Init and MPI_Finalize? false if it has no MPI.
bool runs();
/// First line of the version text of the process's MPI; "none" without an MPI.
std::string version_line();
/// The whole text.
const std::string& version_text();

/// Decides on the MPI of the process. Error mpi if there is none, or one that does not fit: which
/// one, where it is, and what to do. `comm`: the communicator of the program.
void use(const sluice::Comm& comm);
/// As use(), for programs without an MPI of their own: loads the one that their launcher belongs
/// to, or the one that SLUICE_MPI names.
void load();

/// The MPI in use. Error wrong_state before use().
Comms& comms();
Messages& messages();
Files& files();

/// `comm` as a handle of the MPI in use; use(comm) must have accepted it.
Comm take(const sluice::Comm& comm);

}  // namespace sluice::mpi
