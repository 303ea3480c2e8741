// Finds the interacting atoms from the positions alone, so that lattices with holes, surfaces or
// foreign shapes need no special treatment.
//
// Invariants: an atom's neighbours are in ascending order of id, whatever the number of ranks; an
// atom that is near in several periodic images counts once for each (in a box one or two cells wide
// it may even be its own neighbour).
#pragma once

#include <cstdint>
#include <mpi.h>
#include <vector>

#include "atoms.hpp"

namespace vampire {

/// Limit of the neighbours of an atom.
inline constexpr std::uint64_t max_neighbours = 512;

/// Neighbours of this rank's atoms, and the foreign atoms among them.
struct Neighbours {
  /// Atom i has entries [begin[i], begin[i + 1]) of `index`.
  std::vector<std::uint64_t> begin;
  /// Below the number of own atoms: an own atom; above: own atoms + place in ghost_id.
  std::vector<std::uint32_t> index;
  /// Foreign atoms that are needed, grouped by owner (ascending), then ascending by id.
  std::vector<std::uint64_t> ghost_id;
  std::vector<int> ghost_owner;
};

/// Finds all pairs at most `cutoff` apart. Collective. Error invalid_argument where an atom has
/// more than max_neighbours.
Neighbours find_neighbours(MPI_Comm comm, const Atoms& atoms, const Box& box, double cutoff);

/// Distance of the two closest atoms of the whole sample. Collective. Error format where two atoms
/// are at the same place, or where there is only one.
double nearest_distance(MPI_Comm comm, const Atoms& atoms, const Box& box, std::uint64_t total);

}  // namespace vampire
