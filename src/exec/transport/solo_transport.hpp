// The transport of a program that runs alone: one rank, no MPI.
#pragma once

#include <memory>

#include "exec/transport/transport.hpp"

namespace sluice::exec {

/// A transport of one rank. Its collectives return at once; a message to itself waits in memory,
/// and a receive that nothing was sent for is Error timeout at once, as nobody can send it.
std::unique_ptr<Transport> make_solo();

}  // namespace sluice::exec
