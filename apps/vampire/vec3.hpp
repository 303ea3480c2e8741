// Three numbers. Every operation is written out, so that each compiler rounds the same way (the
// whole application is compiled without contraction to fused multiply-adds).
#pragma once

#include <cmath>

namespace vampire {

struct Vec3 {
  double x = 0;
  double y = 0;
  double z = 0;

  double& operator[](int i) noexcept { return i == 0 ? x : i == 1 ? y : z; }
  double operator[](int i) const noexcept { return i == 0 ? x : i == 1 ? y : z; }
  friend bool operator==(const Vec3&, const Vec3&) = default;
};
static_assert(sizeof(Vec3) == 3 * sizeof(double), "arrays of it are handed over as doubles");

inline Vec3 operator+(const Vec3& a, const Vec3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vec3 operator-(const Vec3& a, const Vec3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vec3 operator*(double f, const Vec3& a) { return {f * a.x, f * a.y, f * a.z}; }
inline double dot(const Vec3& a, const Vec3& b) { return (a.x * b.x + a.y * b.y) + a.z * b.z; }
inline Vec3 cross(const Vec3& a, const Vec3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline Vec3 normalised(const Vec3& a) { return (1.0 / std::sqrt(dot(a, a))) * a; }

}  // namespace vampire
