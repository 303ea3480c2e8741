// MPI helpers in addition to the common ones: reductions, a broadcast of any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mpi.h>
#include <span>

#include "common/comm.hpp"

namespace parabmu {

using app::agree;
using app::all_to_all;
using app::Code;
using app::Error;
using app::rank_of;
using app::size_of;

/// Root's bytes on every rank; pieces above 1 GiB go one after the other. Collective.
void broadcast(MPI_Comm comm, std::span<std::byte> bytes, int root);

std::int64_t sum(MPI_Comm comm, std::int64_t value);
double largest(MPI_Comm comm, double value);
/// Sum over the ranks below this one.
std::uint64_t sum_below(MPI_Comm comm, std::uint64_t value);

}  // namespace parabmu
