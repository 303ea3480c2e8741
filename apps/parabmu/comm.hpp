// What the code needs of MPI: one outcome for all ranks, reductions, parcels for every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mpi.h>
#include <span>
#include <string>
#include <vector>

#include "sluice/error.hpp"

namespace parabmu {

using sluice::Code;
using sluice::Error;

int rank_of(MPI_Comm comm);
int size_of(MPI_Comm comm);

/// Runs `body`, which must not communicate; where it threw on any rank, every rank throws the error
/// of the lowest such rank. Collective.
void agree(MPI_Comm comm, const std::function<void()>& body);

/// Bytes for every rank in, bytes from every rank out (index: rank). Collective.
std::vector<std::vector<std::byte>> all_to_all(MPI_Comm comm,
                                               const std::vector<std::vector<std::byte>>& out);

/// Root's bytes on every rank; pieces above 1 GiB go one after the other. Collective.
void broadcast(MPI_Comm comm, std::span<std::byte> bytes, int root);

std::int64_t sum(MPI_Comm comm, std::int64_t value);
double largest(MPI_Comm comm, double value);
/// Sum over the ranks below this one.
std::uint64_t sum_below(MPI_Comm comm, std::uint64_t value);

}  // namespace parabmu
