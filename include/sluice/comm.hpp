// A communicator of any MPI. Where a function takes a Comm, programs give an MPI_Comm.
#pragma once

#include "sluice/comm.h"

namespace sluice {

/// Stays the caller's: whoever takes a Comm duplicates it.
class Comm {
 public:
  /// No communicator.
  constexpr Comm() noexcept = default;
  constexpr Comm(const sluice_comm& comm) noexcept : comm_(comm) {}  // NOLINT: stands for it
#ifndef SLUICE_NO_MPI_H
  Comm(MPI_Comm comm) noexcept : comm_(sluice_comm_of(comm)) {}  // NOLINT: stands for it
#endif

  constexpr const sluice_comm& raw() const noexcept { return comm_; }

 private:
  sluice_comm comm_{SLUICE_COMM_NULL, 0, 0};
};

}  // namespace sluice
