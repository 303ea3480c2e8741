// The stiffness of one voxel: an 8-node brick of a linear elastic, isotropic material.
//
// Nodes of a brick are numbered i = x + 2 y + 4 z (x, y, z in {0, 1}), degrees of freedom 3 i +
// axis.
#pragma once

#include <array>

namespace parabmu {

struct Material {
  double young = 0;    ///< modulus of elasticity, force per area
  double poisson = 0;  ///< ratio, in (-1, 0.5)

  bool same_stiffness(const Material& other) const {
    return young == other.young && poisson == other.poisson;
  }
};

using ElementMatrix = std::array<double, 24 * 24>;  ///< row-major, symmetric

/// By 2 x 2 x 2 Gauss points, which is exact for a brick. `size`: edges along x, y, z.
ElementMatrix element_matrix(const Material& material, const std::array<double, 3>& size);

}  // namespace parabmu
