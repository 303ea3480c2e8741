// What a program asks of a data access function.
#pragma once

#include <cstdint>

#include "mpiio/mpi.hpp"

namespace sluice::mpiio {

/// The start of a call in the view.
enum class Where : std::uint8_t { offset, individual, shared };

/// The arguments of a program.
struct Call {
  bool is_write = false;
  Where where = Where::offset;
  std::int64_t offset = 0;  ///< in elementary datatypes, where it counts
  void* buffer = nullptr;
  std::int64_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

}  // namespace sluice::mpiio
