// Random shapes and boxes, and the elements of a box one by one, for comparison with brute force.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "model/box.hpp"

namespace sluice::test {

using Random = std::mt19937_64;

/// A number from low to high, both included.
inline std::uint64_t pick(Random& random, std::uint64_t low, std::uint64_t high) {
  return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
}

inline model::Dims random_shape(Random& random, int rank, std::uint64_t largest) {
  model::Dims shape;
  for (int i = 0; i < rank; ++i) {
    shape.push_back(pick(random, 1, largest));
  }
  return shape;
}

/// A box inside `outer`, whole in a dimension in one case of three, empty only if `may_be_empty`.
inline model::Box random_box(Random& random, const model::Box& outer, bool may_be_empty = false) {
  model::Box box = outer;
  for (int i = 0; i < outer.start.rank(); ++i) {
    if (pick(random, 0, 2) == 0) {
      continue;
    }
    box.count[i] = pick(random, may_be_empty ? 0 : 1, outer.count[i]);
    box.start[i] = outer.start[i] + pick(random, 0, outer.count[i] - box.count[i]);
  }
  return box;
}

/// Coordinates of all elements in row-major order.
inline std::vector<model::Dims> elements_of(const model::Box& box) {
  std::vector<model::Dims> all;
  const std::uint64_t volume = box.volume();
  for (std::uint64_t k = 0; k < volume; ++k) {
    model::Dims at = box.start;
    std::uint64_t rest = k;
    for (int i = at.rank() - 1; i >= 0; --i) {
      at[i] += rest % box.count[i];
      rest /= box.count[i];
    }
    all.push_back(at);
  }
  return all;
}

/// Place of the element `at` in a dense row-major array of extents `extents.count` that begins at
/// `extents.start`.
inline std::uint64_t place_of(const model::Dims& at, const model::Box& extents) {
  std::uint64_t place = 0;
  for (int i = 0; i < at.rank(); ++i) {
    place = place * extents.count[i] + (at[i] - extents.start[i]);
  }
  return place;
}

inline bool holds(const model::Box& box, const model::Dims& at) {
  for (int i = 0; i < at.rank(); ++i) {
    if (at[i] < box.start[i] || at[i] >= box.start[i] + box.count[i]) {
      return false;
    }
  }
  return true;
}

/// Cuts `region` at random into disjoint boxes that cover it.
inline void cut(Random& random, const model::Box& region, int depth,
                std::vector<model::Box>& pieces) {
  const int dim = region.start.rank() == 0
                      ? -1
                      : static_cast<int>(pick(random, 0, std::uint64_t(region.start.rank() - 1)));
  if (depth == 0 || dim < 0 || region.count[dim] < 2) {
    pieces.push_back(region);
    return;
  }
  model::Box low = region;
  model::Box high = region;
  low.count[dim] = pick(random, 1, region.count[dim] - 1);
  high.start[dim] += low.count[dim];
  high.count[dim] -= low.count[dim];
  cut(random, low, depth - 1, pieces);
  cut(random, high, depth - 1, pieces);
}

}  // namespace sluice::test
