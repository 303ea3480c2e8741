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
    : shape_(shape), extent_(shape), number_(shape) {
  if (shape.volume() == 0) {
    return;
  }
  const auto set_extent = [&](int dim, std::uint64_t extent) {
    extent_[dim] = std::clamp<std::uint64_t>(extent, 1, shape[dim]);
    number_[dim] = (shape[dim] - 1) / extent_[dim] + 1;
  };
  for (int dim = 0; dim < shape.rank(); ++dim) {
    set_extent(dim, mean_count[dim]);
  }
  cells_ = saturated_volume(number_);
  while (cells_ > max_cells) {
    const auto most = std::max_element(number_.begin(), number_.end());
    const auto dim = static_cast<int>(most - number_.begin());
    set_extent(dim, extent_[dim] > shape[dim] / 2 ? shape[dim] : 2 * extent_[dim]);
    cells_ = saturated_volume(number_);
  }
}

model::Box CellGrid::cell(std::uint64_t index) const {
  model::Box box{shape_, shape_};
  for (int dim = shape_.rank() - 1; dim >= 0; --dim) {
    box.start[dim] = index % number_[dim] * extent_[dim];
    box.count[dim] = std::min(extent_[dim], shape_[dim] - box.start[dim]);
    index /= number_[dim];
  }
  return box;
}

void CellGrid::for_each_met(const model::Box& box,
                            const std::function<void(std::uint64_t)>& visit) const {
  if (box.empty()) {
    return;
  }
  model::Dims first = box.start;
  model::Dims last = box.start;
  for (int dim = 0; dim < shape_.rank(); ++dim) {
    first[dim] = box.start[dim] / extent_[dim];
    last[dim] = (box.end(dim) - 1) / extent_[dim];
  }
  model::Dims at = first;
  while (true) {
    std::uint64_t index = 0;
    for (int dim = 0; dim < shape_.rank(); ++dim) {
      index = index * number_[dim] + at[dim];
    }
    visit(index);
    int dim = shape_.rank() - 1;
    while (dim >= 0 && at[dim] == last[dim]) {
      at[dim] = first[dim];
      --dim;
    }
    if (dim < 0) {
      return;
    }
    ++at[dim];
  }
}

}  // namespace sluice::exec
