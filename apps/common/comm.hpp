// MPI helpers shared by the codes: one outcome for all ranks, parcels for every rank.
#pragma once

#include <cstddef>
#include <functional>
#include <mpi.h>
#include <vector>

#include "sluice/error.hpp"

namespace app {

using sluice::Code;
using sluice::Error;

/// A message's largest piece: counts of MPI are 32-bit.
inline constexpr std::size_t piece_bytes = 1ULL << 30;

int rank_of(MPI_Comm comm);
int size_of(MPI_Comm comm);

/// Runs `body`, which must not communicate; if it throws on any rank, every rank throws the error
/// of the lowest such rank. Collective.
void agree(MPI_Comm comm, const std::function<void()>& body);

/// Bytes for every rank in, bytes from every rank out (index: rank). Collective.
std::vector<std::vector<std::byte>> all_to_all(MPI_Comm comm,
                                               const std::vector<std::vector<std::byte>>& out);

/// The body of main(): MPI around `run`, whose result is the exit code. If it throws, rank 0 prints
/// `name: why` and the code is 2; every rank has the same error, because each part of a run agrees
/// on it before it throws.
int run_program(int argc, char** argv, const char* name,
                const std::function<int(MPI_Comm, int, char**)>& run);

}  // namespace app
