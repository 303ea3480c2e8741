// Location of the libraries that intercept the MPI-IO of a program.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sluice::cli {

/// The variables to set, and their values: LD_PRELOAD with the library for each MPI that this build
/// supports, of which the one for the program's MPI takes effect (the old value is kept). They are
/// looked for in SLUICE_MPIIO_PATH, else beside this command. Error not_found if there is none.
std::vector<std::pair<std::string, std::string>> mpiio_environment();

/// Replaces this process by the program: exit code and signals are those of the program. Returns an
/// exit code if it cannot be started.
int become_mpiio_program(const std::vector<std::string>& words);

}  // namespace sluice::cli
