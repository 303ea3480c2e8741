// The program that `sluice run` starts: before this process becomes a rank of MPI, or guarded.
#pragma once

#include <string>
#include <vector>

namespace sluice::cli {

/// The program and its arguments, after "--mpiio" if that was given; empty if the command line does
/// not start a program.
std::vector<std::string> program_words(int argc, char** argv);

/// Starts it with the driver and waits for it. Returns the exit code, or ends by its signal.
int run_program(const std::vector<std::string>& words);

}  // namespace sluice::cli
