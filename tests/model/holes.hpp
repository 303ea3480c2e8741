// A whole hole between boxes, by the functions with which the check of a decomposition finds it.
#pragma once

#include <optional>
#include <vector>

#include "model/coverage.hpp"

namespace sluice::test {

/// A box inside `region` that no box covers, or empty: it starts at the first missing element in
/// row-major order and cannot be extended in any dimension (the last one is extended first).
/// `disjoint_boxes` may reach beyond the region.
inline std::optional<model::Box> find_hole(const model::Box& region,
                                           const std::vector<model::Box>& disjoint_boxes) {
  const auto first = model::find_missing(region, disjoint_boxes);
  if (!first) {
    return std::nullopt;
  }
  model::Box hole{*first, model::Dims::filled(first->rank(), 1)};
  for (int dim = hole.start.rank() - 1; dim >= 0; --dim) {
    hole.count[dim] = model::free_count(hole, dim, region, disjoint_boxes);
  }
  return hole;
}

}  // namespace sluice::test
