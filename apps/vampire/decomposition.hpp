// Who owns which atoms: the box is cut into a grid of equal domains, one a rank.
//
// Invariant: an atom's owner depends on its position alone. Domains may be empty of atoms.
#pragma once

#include <array>
#include <mpi.h>

#include "atoms.hpp"

namespace vampire {

/// Ranks along x, y, z: the grid of `ranks` domains whose faces have the least area.
std::array<int, 3> grid_of(int ranks, const Vec3& length);

/// The rank whose domain holds `position`; a position outside the box belongs to the nearest
/// domain.
int owner_of(const Vec3& position, const Box& box, const std::array<int, 3>& grid);

/// Brings every atom to its owner; each rank's atoms are then in ascending order of id. Collective.
Atoms to_owners(MPI_Comm comm, const Atoms& atoms, const Box& box);

}  // namespace vampire
