#include "exec/check/cells.hpp"

#include <algorithm>
#include <limits>

namespace sluice::exec {
namespace {

std::uint64_t saturated_volume(const model::Dims& dims) {
  std::uint64_t product = 1;
  for (std::uint64_t value : dims) {
    if (__builtin_mul_overflow(product, value, &product)) {
      return std::numeric_limits<std::uint64_t>::max();
    }
  }
  return product;
}

}  // namespace

CellGrid::CellGrid(const model::Dims& shape, const model::Dims& mean_count, std::uint64_t max_cells)
    : shape_(shape) {
  if (shape.volume() == 0) {
    return;
  }
  model::Dims extent = shape;
  model::Dims number = shape;
  const auto set_extent = [&](int dim, std::uint64_t wanted) {
    extent[dim] = std::clamp<std::uint64_t>(wanted, 1, shape[dim]);
    number[dim] = (shape[dim] - 1) / extent[dim] + 1;
  };
  for (int dim = 0; dim < shape.rank(); ++dim) {
    set_extent(dim, mean_count[dim]);
  }
  cells_ = saturated_volume(number);
  while (cells_ > max_cells) {
    const auto most = std::max_element(number.begin(), number.end());
    const auto dim = static_cast<int>(most - number.begin());
    set_extent(dim, extent[dim] > shape[dim] / 2 ? shape[dim] : 2 * extent[dim]);
    cells_ = saturated_volume(number);
  }
  tiling_ = extent;
}

}  // namespace sluice::exec
