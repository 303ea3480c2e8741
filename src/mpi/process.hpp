// The MPI of this process: found among what the program has loaded, and called by its own ABI.
//
// Invariants: the library is linked to no MPI. Until the first use the process is searched anew at
// each question, for a program may load its MPI late (a Python program that imports mpi4py); from
// then on the same MPI is called for ever. Of several that are loaded the one counts that has been
// initialised, then the one that the program's own calls would reach.
#pragma once

#include <string>
#include <vector>

#include "mpi/library.hpp"
#include "sluice/comm.hpp"

namespace sluice::mpi {

/// An MPI that the process has loaded.
struct Loaded {
  std::string said;         ///< what its MPI_Get_library_version says
  std::string place;        ///< path of its file
  std::string abi;          ///< "Open MPI", "MPICH", "MPI 5"; empty: none of these
  std::string trouble;      ///< why it cannot be called; empty where it can
  bool is_running = false;  ///< between MPI_Init and MPI_Finalize, as far as it can be asked
};
/// All of them, the one in use first. Local, as everything here.
std::vector<Loaded> loaded();

/// Is the process between MPI_Init and MPI_Finalize? false where it has no MPI.
bool runs();
/// First line of what the process's MPI says of itself; "none" where there is none.
std::string version_line();
/// All of it.
const std::string& version_text();

/// Decides on the MPI of the process. Error mpi where there is none, or one that does not fit:
/// which one, where, and what to do. `comm`: what the program gave.
void use(const sluice::Comm& comm);
/// As use(), for programs that bring no MPI: loads the one that their launcher belongs to, or the
/// one that SLUICE_MPI names.
void load();

/// Of the MPI in use. Error wrong_state before use().
Comms& comms();
Messages& messages();
Files& files();

/// `comm` as a handle of the MPI in use, which use(comm) has accepted.
Comm take(const sluice::Comm& comm);

}  // namespace sluice::mpi
