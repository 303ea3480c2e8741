/// @file
/// A communicator of any MPI: sluice::Comm. Where a function takes a Comm, a program gives an
/// MPI_Comm.
#pragma once

#include "sluice/comm.h"

namespace sluice {

/// A communicator of any MPI, as a plain value. It stays the caller's: what takes a Comm duplicates
/// it. An MPI_Comm converts to it in the caller's own code, so that the library needs no mpi.h.
class Comm {
 public:
  /// No communicator.
  constexpr Comm() noexcept = default;
  /// A communicator of the C interface.
  constexpr Comm(const sluice_comm& comm) noexcept : comm_(comm) {}  // NOLINT: stands for it
#ifndef SLUICE_NO_MPI_H
  /// A communicator of the MPI whose mpi.h the program is compiled with.
  Comm(MPI_Comm comm) noexcept : comm_(sluice_comm_of(comm)) {}  // NOLINT: stands for it
#endif

  /// The value as the C interface has it.
  constexpr const sluice_comm& raw() const noexcept { return comm_; }

 private:
  sluice_comm comm_{SLUICE_COMM_NULL, 0, 0};
};

}  // namespace sluice
