// Where the libraries lie that answer MPI-IO in front of a program's MPI.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sluice::cli {

/// The variables to set, and their values: LD_PRELOAD with the library for each MPI that this build
/// knows, of which the one for the program's MPI answers (what it was is kept). They are looked for
/// in SLUICE_MPIIO_PATH, else beside this command. Error not_found where there is none.
std::vector<std::pair<std::string, std::string>> mpiio_environment();

/// Becomes the program: its exit code and its signals are its own. Returns an exit code where it
/// cannot be started.
int become_mpiio_program(const std::vector<std::string>& words);

}  // namespace sluice::cli
