// The transport of a program with one rank and no MPI.
#pragma once

#include <memory>

#include "exec/transport/transport.hpp"

namespace sluice::exec {

/// A transport of one rank. Its collectives return at once; a message to itself waits in memory,
/// and a receive without a message is Error timeout at once, because no rank can send it.
std::unique_ptr<Transport> make_solo();

}  // namespace sluice::exec
