// The ranks of one run of the command, and how it ends.
//
// Invariants: under a launcher of MPI the ranks of MPI_COMM_WORLD work together, otherwise this
// process works alone and MPI is not even initialised (it costs 0.3 s, and fails on the login nodes
// of some machines). All ranks end with the same exit code; of a failure one rank says one line.
#pragma once

#include <functional>
#include <string>

#include "verb.hpp"

namespace sluice::cli {

/// Runs `body` on every rank and returns the exit code. What it throws becomes one line on stderr
/// and exit code bad_input (damaged data: differs).
int run_session(int* argc, char*** argv, const Run& body);

/// Exit code of an error.
int exit_code(const std::exception& error);

/// Text of an error for the user: without the rank where that says nothing.
std::string message_of(const std::exception& error);

}  // namespace sluice::cli
