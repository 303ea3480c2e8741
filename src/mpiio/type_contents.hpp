// How a datatype was made, as its MPI tells it.
//
// Invariant: the questions with large counts are asked where the process's MPI has them: an MPI 3.1
// of the same ABI (Cray MPICH 8, MVAPICH2 2.3) has only those with ints, which are enough for every
// datatype that can be made there.
#pragma once

#include <cstdint>
#include <vector>

#include "mpiio/mpi.hpp"

namespace sluice::mpiio {

/// All numbers in 64 bits.
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<std::int64_t> numbers;        ///< counts and integers, in MPI's order
  std::vector<std::int64_t> displacements;  ///< in bytes
  std::vector<MPI_Datatype> types;
};

// Made by Fortran's bindings of MPI-1; MPI 3 removed the names.
#if defined(OPEN_MPI) && !(OMPI_ENABLE_MPI1_COMPAT || OMPI_BUILDING)
inline constexpr int combiner_hvector_integer = OMPI_WAS_MPI_COMBINER_HVECTOR_INTEGER;
inline constexpr int combiner_hindexed_integer = OMPI_WAS_MPI_COMBINER_HINDEXED_INTEGER;
inline constexpr int combiner_struct_integer = OMPI_WAS_MPI_COMBINER_STRUCT_INTEGER;
#else
inline constexpr int combiner_hvector_integer = MPI_COMBINER_HVECTOR_INTEGER;
inline constexpr int combiner_hindexed_integer = MPI_COMBINER_HINDEXED_INTEGER;
inline constexpr int combiner_struct_integer = MPI_COMBINER_STRUCT_INTEGER;
#endif

/// Of a datatype that nothing was made of.
bool is_named(int combiner);
int combiner_of(MPI_Datatype type);
/// Of one that is not named, the types are the caller's to free if they are derived.
Contents contents_of(MPI_Datatype type);

}  // namespace sluice::mpiio
