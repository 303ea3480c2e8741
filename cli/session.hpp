// The ranks of one run of the command, and its end.
//
// Invariants: under a launcher of MPI the ranks of MPI_COMM_WORLD work together. Otherwise, with
// one rank, and with SLUICE_MPI=none (in a rank of another program, whose MPI it would join) this
// process works alone and MPI is not initialised: that costs 0.3 s, and fails on the login nodes of
// some machines. All ranks end with the same exit code; one rank prints one line about a failure.
#pragma once

#include <functional>
#include <string>

#include "verb.hpp"

namespace sluice::cli {

/// Runs `body` on every rank and returns the exit code. An exception becomes one line on stderr and
/// exit code bad_input (damaged data: differs). `needs_mpi`: where the launcher's MPI cannot be
/// loaded, that is an error; else the first rank runs `body` alone.
int run_session(int* argc, char*** argv, bool needs_mpi, const Run& body);

/// Was this process started by a launcher of MPI, by its variables?
bool has_launcher();
/// Is SLUICE_MPI=none: does this process work alone whatever the launcher says?
bool is_mpi_declined();

/// Exit code of an error.
int exit_code(const std::exception& error);

/// Text of an error for the user: without the rank if it adds nothing.
std::string message_of(const std::exception& error);

}  // namespace sluice::cli
