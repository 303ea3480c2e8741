// The stiffness of a voxel, against properties of any correct stiffness matrix.
#include "element.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace parabmu {
namespace {

constexpr std::array<double, 3> size{0.3, 0.5, 0.2};
const Material bone{17000, 0.3};

using Field = std::array<double, 24>;

/// Displacements u_i = offset_i + slope_ij x_j at the corners of a brick.
Field linear(const std::array<double, 3>& offset,
             const std::array<std::array<double, 3>, 3>& slope) {
  Field u{};
  for (std::size_t node = 0; node < 8; ++node) {
    for (std::size_t i = 0; i < 3; ++i) {
      u[3 * node + i] = offset[i];
      for (std::size_t j = 0; j < 3; ++j) {
        u[3 * node + i] += (node >> j & 1) != 0 ? slope[i][j] * size[j] : 0;
      }
    }
  }
  return u;
}

Field times(const ElementMatrix& matrix, const Field& u) {
  Field product{};
  for (std::size_t i = 0; i < 24; ++i) {
    for (std::size_t j = 0; j < 24; ++j) {
      product[i] += matrix[24 * i + j] * u[j];
    }
  }
  return product;
}

double dot(const Field& a, const Field& b) {
  double result = 0;
  for (std::size_t i = 0; i < 24; ++i) {
    result += a[i] * b[i];
  }
  return result;
}

TEST(Element, RigidMotionsCostNothing) {
  const ElementMatrix matrix = element_matrix(bone, size);
  const std::array<std::array<double, 3>, 3> turns[] = {{{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}},
                                                        {{{0, -1, 0}, {1, 0, 0}, {0, 0, 0}}},
                                                        {{{0, 0, 1}, {0, 0, 0}, {-1, 0, 0}}},
                                                        {{{0, 0, 0}, {0, 0, -1}, {0, 1, 0}}}};
  for (const auto& turn : turns) {
    for (const double force : times(matrix, linear({1, -2, 3}, turn))) {
      EXPECT_NEAR(force, 0, 1e-9);
    }
  }
}

TEST(Element, UniformStrainHasTheEnergyAndForcesOfHooke) {
  const ElementMatrix matrix = element_matrix(bone, size);
  std::mt19937 draw(5);
  std::uniform_real_distribution<double> any(-1e-2, 1e-2);
  const double volume = size[0] * size[1] * size[2];
  const double lambda = 17000 * 0.3 / (1.3 * 0.4);
  const double mu = 17000 / 2.6;
  for (int trial = 0; trial < 20; ++trial) {
    std::array<std::array<double, 3>, 3> slope{};
    for (auto& row : slope) {
      for (double& value : row) {
        value = any(draw);
      }
    }
    std::array<std::array<double, 3>, 3> stress{};
    double density = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        const double strain = (slope[i][j] + slope[j][i]) / 2;
        const double trace = slope[0][0] + slope[1][1] + slope[2][2];
        stress[i][j] = 2 * mu * strain + (i == j ? lambda * trace : 0);
        density += stress[i][j] * strain / 2;
      }
    }
    const Field u = linear({any(draw), any(draw), any(draw)}, slope);
    const Field forces = times(matrix, u);
    EXPECT_NEAR(dot(u, forces) / 2, density * volume, 1e-10 * density * volume);
    // Each corner carries a quarter of the traction on the three faces that meet in it.
    for (std::size_t node = 0; node < 8; ++node) {
      for (std::size_t i = 0; i < 3; ++i) {
        double expected = 0;
        for (std::size_t j = 0; j < 3; ++j) {
          const double area = volume / size[j];
          expected += ((node >> j & 1) != 0 ? 1 : -1) * stress[i][j] * area / 4;
        }
        EXPECT_NEAR(forces[3 * node + i], expected, 1e-9);
      }
    }
  }
}

TEST(Element, IsSymmetricAndHoldsAgainstAllButRigidMotions) {
  const ElementMatrix matrix = element_matrix(bone, size);
  std::mt19937 draw(6);
  std::normal_distribution<double> any;
  for (std::size_t i = 0; i < 24; ++i) {
    for (std::size_t j = 0; j < 24; ++j) {
      EXPECT_NEAR(matrix[24 * i + j], matrix[24 * j + i], 1e-10);
    }
  }
  for (int trial = 0; trial < 100; ++trial) {
    Field u{};
    for (double& value : u) {
      value = any(draw);
    }
    EXPECT_GT(dot(u, times(matrix, u)), 0);
  }
}

}  // namespace
}  // namespace parabmu
