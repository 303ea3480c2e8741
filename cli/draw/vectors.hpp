// Vectors in space, for colours of spins and for the camera.
#pragma once

#include <array>
#include <cmath>
#include <string>

#include "sluice/error.hpp"

namespace sluice::cli {

using Vector = std::array<double, 3>;

inline double dot(const Vector& a, const double* b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

inline Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// Each by itself: the sum of finite components may be infinite.
inline bool is_finite(const double* a) {
  return std::isfinite(a[0]) && std::isfinite(a[1]) && std::isfinite(a[2]);
}

/// The direction of `a`. Error invalid_argument with the text `why_not` if it is zero.
inline Vector unit(const Vector& a, const char* why_not) {
  const double length = std::sqrt(dot(a, a.data()));
  if (!(length > 1e-12) || !std::isfinite(length)) {
    throw Error(Code::invalid_argument, why_not);
  }
  return {a[0] / length, a[1] / length, a[2] / length};
}

}  // namespace sluice::cli
