// The nodes of a rank, their numbers, and the rows of the stiffness matrix as patterns.
//
// Local nodes: the own ones, by ascending z, y, x; then the nodes of the plane below that the
// halo's voxels touch; then those of the plane above; last a node that is always zero, for
// neighbours that do not exist.
//
// Invariants: a node's row is summed in a fixed order that does not depend on its owner; two nodes
// with the same eight voxels around them share one pattern.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "materials.hpp"
#include "voxels.hpp"

namespace parabmu {

/// Row of a node: block (i, j) of neighbour n (x + 3 y + 9 z, each -1 .. 1) is
/// blocks[(3 n + j) * 4 + i]; the fourth entry pads.
struct Pattern {
  std::array<double, 27 * 3 * 4> blocks{};
  std::array<double, 3> diagonal{};
};

/// One neighbour in z: what it must be sent of own nodes, and where what it sends goes.
struct Interface {
  int rank = -1;  ///< -1: nobody
  std::vector<std::int32_t> own;
  std::int32_t first_ghost = 0;
  std::int32_t ghosts = 0;
};

struct Mesh {
  Grid nodes{};             ///< along x, y, z: one more than voxels
  std::uint64_t first = 0;  ///< own node planes
  std::uint64_t planes = 0;
  std::uint64_t owned = 0;
  std::uint64_t total = 0;   ///< nodes of the whole model
  std::uint64_t offset = 0;  ///< number of the first own node: of the nodes in order of z, y, x
  std::vector<std::uint64_t> plane_starts;  ///< own nodes of plane p: [p], [p + 1]
  std::vector<std::uint64_t> ids;           ///< of own nodes: x + y NX + z NX NY, from 0
  std::uint64_t locals = 0;                 ///< own, ghosts, and the zero node
  std::vector<std::array<std::int32_t, 27>> neighbours;  ///< of own nodes
  std::vector<std::uint32_t> pattern_of;
  std::vector<Pattern> patterns;
  Interface below;
  Interface above;
  std::vector<std::int32_t> local_of;  ///< of node planes first - 1 .. first + planes; -1: none

  /// Local number of a node of the planes first - 1 to first + planes; -1 where there is none.
  std::int32_t local(std::uint64_t x, std::uint64_t y, std::uint64_t z) const {
    return local_of[((z + 1 - first) * nodes[1] + y) * nodes[0] + x];
  }
};

/// Collective. `size`: edges of a voxel.
Mesh make_mesh(MPI_Comm comm, const Voxels& voxels, const Materials& materials,
               const std::array<double, 3>& size);

}  // namespace parabmu
