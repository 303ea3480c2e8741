// Generated lattices: simple cubic, body-centred and face-centred cubic.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "atoms.hpp"

namespace vampire {

struct Lattice {
  std::string kind = "sc";  ///< sc | bcc | fcc
  std::array<std::uint64_t, 3> cells{};
  double spacing = 0;  ///< edge of the cubic cell, Angstrom
  std::array<bool, 3> periodic{};
};

/// Atoms [N r / P, N (r + 1) / P) of the lattice: ids count the cells with z fastest, and the atoms
/// of a cell one after the other. Spins are left zero. Error invalid_argument above 2^53 atoms.
/// Local.
Sample generate(const Lattice& lattice, int rank, int ranks);

}  // namespace vampire
