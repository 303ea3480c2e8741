// What the application needs of MPI besides the halo: one outcome for all ranks, a sparse exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mpi.h>
#include <string>
#include <vector>

#include "sluice/error.hpp"

namespace vampire {

using sluice::Code;
using sluice::Error;

/// Runs `body`, which must not communicate; where it threw on any rank, every rank throws the error
/// of the lowest such rank. Collective.
void agree(MPI_Comm comm, const std::function<void()>& body);

/// Bytes for every rank in, bytes from every rank out (index: rank). Collective.
std::vector<std::vector<std::byte>> all_to_all(MPI_Comm comm,
                                               const std::vector<std::vector<std::byte>>& out);

/// All ranks' values, one after the other in the order of the ranks. Collective.
std::vector<double> allgather(MPI_Comm comm, const std::vector<double>& mine);

double reduce(MPI_Comm comm, double value, MPI_Op op);
std::int64_t reduce(MPI_Comm comm, std::int64_t value, MPI_Op op);
int rank_of(MPI_Comm comm);
int size_of(MPI_Comm comm);

}  // namespace vampire
