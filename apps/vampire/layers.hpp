// The layers of atoms along an axis, from which the box of a snapshot is inferred.
#pragma once

#include <mpi.h>
#include <vector>

#include "vec3.hpp"

namespace vampire {

/// Extent of all atoms along an axis and the distance of neighbouring layers.
struct Layers {
  double low = 0;
  double high = 0;
  double gap = 0;  ///< 0: a single layer, or no regular layers
};

/// Collective; positions of this rank's atoms.
Layers layers_along(MPI_Comm comm, const std::vector<Vec3>& positions, int axis);

}  // namespace vampire
