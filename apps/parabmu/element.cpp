#include "element.hpp"

#include <cmath>
#include <cstddef>

namespace parabmu {
namespace {

/// Derivatives of the eight trilinear shape functions at `point` (each in [0, 1]) along `size`.
std::array<std::array<double, 3>, 8> gradients(const std::array<double, 3>& point,
                                               const std::array<double, 3>& size) {
  std::array<std::array<double, 3>, 8> result{};
  for (std::size_t node = 0; node < 8; ++node) {
    double value[3];
    double slope[3];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const bool upper = (node >> axis & 1) != 0;
      value[axis] = upper ? point[axis] : 1 - point[axis];
      slope[axis] = (upper ? 1 : -1) / size[axis];
    }
    result[node] = {slope[0] * value[1] * value[2], value[0] * slope[1] * value[2],
                    value[0] * value[1] * slope[2]};
  }
  return result;
}

}  // namespace

ElementMatrix element_matrix(const Material& material, const std::array<double, 3>& size) {
  const double nu = material.poisson;
  const double lambda = material.young * nu / ((1 + nu) * (1 - 2 * nu));
  const double mu = material.young / (2 * (1 + nu));
  const double weight = size[0] * size[1] * size[2] / 8;
  const double points[2] = {0.5 - 0.5 / std::sqrt(3.0), 0.5 + 0.5 / std::sqrt(3.0)};
  ElementMatrix matrix{};
  for (std::size_t at = 0; at < 8; ++at) {
    const auto grad = gradients({points[at & 1], points[at >> 1 & 1], points[at >> 2]}, size);
    for (std::size_t a = 0; a < 8; ++a) {
      for (std::size_t b = 0; b < 8; ++b) {
        double along = 0;
        for (std::size_t k = 0; k < 3; ++k) {
          along += grad[a][k] * grad[b][k];
        }
        for (std::size_t i = 0; i < 3; ++i) {
          for (std::size_t j = 0; j < 3; ++j) {
            const double coupled = lambda * grad[a][i] * grad[b][j] + mu * grad[a][j] * grad[b][i];
            matrix[(3 * a + i) * 24 + 3 * b + j] += weight * (coupled + (i == j ? mu * along : 0));
          }
        }
      }
    }
  }
  return matrix;
}

}  // namespace parabmu
