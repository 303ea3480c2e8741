// Numbers about the whole sample whose printed digits do not depend on the number of ranks.
//
// Invariant: sums are of integers (multiples of 2^-60), so their order does not matter.
#pragma once

#include <cstdint>
#include <mpi.h>
#include <vector>

#include "atoms.hpp"

namespace vampire {

/// A sum over all ranks' numbers. A number that is not finite, or beyond 2^50, spoils it.
class ExactSum {
 public:
  void add(double value);
  /// The sum over all ranks, NaN where a number spoilt it. Collective.
  double total(MPI_Comm comm) const;

 private:
  __int128 sum_ = 0;  ///< in units of 2^-60
  std::int64_t spoilt_ = 0;
};

struct Measured {
  Vec3 magnetisation;     ///< sum of moments over the sum of their magnitudes
  double length = 0;      ///< of the magnetisation
  double energy_mev = 0;  ///< per atom
};

/// Collective.
Measured measure(MPI_Comm comm, const Sample& sample, const Vec3* spins,
                 const std::vector<double>& energies);

/// A number that shows whether two runs have the same spins, bit for bit. Collective.
std::uint64_t digest(MPI_Comm comm, const Atoms& atoms, const Vec3* spins);

}  // namespace vampire
