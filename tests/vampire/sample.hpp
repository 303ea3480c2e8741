// Samples for the tests of the spin dynamics.
#pragma once

#include <mpi.h>

#include "atoms.hpp"
#include "options.hpp"
#include "start.hpp"

namespace vampire {

inline Options lattice_options(const std::string& kind, std::uint64_t nx, std::uint64_t ny,
                               std::uint64_t nz, const std::string& start,
                               const std::string& periodic) {
  Options options;
  options.lattice = kind;
  options.size = {nx, ny, nz};
  options.start = start;
  options.periodic = periodic;
  options.physics.exchange_mev = 30;
  return options;
}

}  // namespace vampire
