// What tells one system of equations from another: the number that a checkpoint is known by.
#pragma once

#include <cstdint>

#include "constraints.hpp"
#include "mesh.hpp"

namespace parabmu {

/// Of the rows of the stiffness matrix (so of materials and the voxel's size), the nodes' ids, and
/// forces and displacements; the same on every rank, and on any number of ranks. Collective.
std::uint64_t problem_of(MPI_Comm comm, const Mesh& mesh, const Load& load);

}  // namespace parabmu
