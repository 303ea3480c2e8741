#include "layers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "comm.hpp"

namespace vampire {
namespace {

/// A rank with more different coordinates has no layers, and sends none.
constexpr std::size_t max_layers = 1 << 16;

/// Sorted, values closer than `tolerance` to the one before left out.
void thin(std::vector<double>& values, double tolerance) {
  std::sort(values.begin(), values.end());
  std::vector<double> kept;
  for (const double value : values) {
    if (kept.empty() || value - kept.back() > tolerance) {
      kept.push_back(value);
    }
  }
  values = std::move(kept);
}

}  // namespace

Layers layers_along(MPI_Comm comm, const std::vector<Vec3>& positions, int axis) {
  std::vector<double> values;
  Layers layers{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const Vec3& position : positions) {
    values.push_back(position[axis]);
    layers.low = std::min(layers.low, position[axis]);
    layers.high = std::max(layers.high, position[axis]);
  }
  layers.low = reduce(comm, layers.low, MPI_MIN);
  layers.high = reduce(comm, layers.high, MPI_MAX);
  // Text snapshots have six significant digits: layers are known no better than that.
  const double size = std::max(std::abs(layers.low), std::abs(layers.high));
  const double tolerance = 1e-5 * size + 1e-6;
  thin(values, tolerance);
  const bool many = values.size() > max_layers;
  if (reduce(comm, std::int64_t{many}, MPI_MAX) > 0) {
    return layers;
  }
  std::vector<double> all = allgather(comm, values);
  thin(all, tolerance);
  double gap = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < all.size(); ++i) {
    gap = std::min(gap, all[i] - all[i - 1]);
  }
  for (std::size_t i = 1; i < all.size(); ++i) {
    const double gaps = (all[i] - all[i - 1]) / gap;
    if (std::abs(gaps - std::round(gaps)) > 0.05 * std::round(gaps)) {
      return layers;
    }
  }
  layers.gap = all.size() > 1 ? gap : 0;
  return layers;
}

}  // namespace vampire
