// The cores of this node, and how many of them a rank may use.
#pragma once

#include <cstddef>

#include "exec/transport/transport.hpp"

namespace sluice::exec {

/// Cores of this node, at least 1. Asked once: the C library reads a file for it.
std::size_t node_cores();
/// Cores of a node for each of its ranks, at least 1.
std::size_t idle_cores(const Transport& transport);

}  // namespace sluice::exec
