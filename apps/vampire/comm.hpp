// What the application needs of MPI beside what all need and the halo: reductions, a gather.
#pragma once

#include <cstdint>
#include <mpi.h>
#include <vector>

#include "common/comm.hpp"

namespace vampire {

using app::agree;
using app::all_to_all;
using app::Code;
using app::Error;
using app::rank_of;
using app::size_of;

/// All ranks' values, one after the other in the order of the ranks. Collective.
std::vector<double> allgather(MPI_Comm comm, const std::vector<double>& mine);

double reduce(MPI_Comm comm, double value, MPI_Op op);
std::int64_t reduce(MPI_Comm comm, std::int64_t value, MPI_Op op);

}  // namespace vampire
