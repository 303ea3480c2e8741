#include "model/box_tree.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace sluice::model {

BoxTree::BoxTree(std::span<const OwnedBox> boxes) {
  if (boxes.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(Code::over_budget, "more than 2^32 blocks of one variable on one rank");
  }
  if (boxes.empty()) {
    return;
  }
  rank_ = boxes[0].box.start.rank();
  corners_.reserve(boxes.size());
  for (const OwnedBox& owned : boxes) {
    corners_.push_back(corners_of(owned.box));
  }
  order_.resize(boxes.size());
  std::iota(order_.begin(), order_.end(), 0U);
  nodes_.reserve(boxes.size() / (leaf_size / 4) + 1);
  build(0, static_cast<std::uint32_t>(boxes.size()));
}

BoxTree::Corners BoxTree::corners_of(const Box& box) {
  Corners corners{box.start, box.start};
  for (int d = 0; d < box.start.rank(); ++d) {
    corners.high[d] = box.end(d);
  }
  return corners;
}

BoxTree::Node BoxTree::bound(std::uint32_t first, std::uint32_t count) const {
  Node node{corners_[order_[first]], 0, first, count, 0};
  for (std::uint32_t i = first; i < first + count; ++i) {
    const Corners& corners = corners_[order_[i]];
    for (int d = 0; d < rank_; ++d) {
      node.bounds.low[d] = std::min(node.bounds.low[d], corners.low[d]);
      node.bounds.high[d] = std::max(node.bounds.high[d], corners.high[d]);
    }
    node.last_box = std::max(node.last_box, order_[i]);
  }
  return node;
}

/// The dimension in which the starts of the boxes differ most, relative to their mean extent: a
/// split there cuts few boxes.
int BoxTree::widest_dimension(std::uint32_t first, std::uint32_t count) const {
  int widest = 0;
  double widest_spread = -1;
  for (int d = 0; d < rank_; ++d) {
    std::uint64_t low = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t high = 0;
    double extents = 0;
    for (std::uint32_t i = first; i < first + count; ++i) {
      const Corners& corners = corners_[order_[i]];
      low = std::min(low, corners.low[d]);
      high = std::max(high, corners.low[d]);
      extents += static_cast<double>(corners.high[d] - corners.low[d]);
    }
    const double spread = static_cast<double>(high - low) / extents;
    if (spread > widest_spread) {
      widest = d;
      widest_spread = spread;
    }
  }
  return widest;
}

std::uint32_t BoxTree::build(std::uint32_t first, std::uint32_t count) {
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back(bound(first, count));
  if (count <= leaf_size || rank_ == 0) {
    return index;
  }
  const int dim = widest_dimension(first, count);
  const std::uint32_t half = count / 2;
  const auto begin = order_.begin() + first;
  std::nth_element(begin, begin + half, begin + count, [&](std::uint32_t a, std::uint32_t b) {
    const std::uint64_t low_a = corners_[a].low[dim];
    const std::uint64_t low_b = corners_[b].low[dim];
    return low_a != low_b ? low_a < low_b : a < b;
  });
  build(first, half);
  const std::uint32_t right = build(first + half, count - half);
  nodes_[index].right = right;
  return index;
}

bool BoxTree::meet(const Corners& a, const Corners& b) const {
  for (int d = 0; d < rank_; ++d) {
    if (a.low[d] >= b.high[d] || b.low[d] >= a.high[d]) {
      return false;
    }
  }
  return true;
}

template <class Visit>
void BoxTree::for_each_overlap(const Corners& wanted, std::uint64_t first, Visit&& visit) const {
  std::array<std::uint32_t, 64> waiting{};
  std::size_t depth = 0;
  if (!nodes_.empty()) {
    waiting[depth++] = 0;
  }
  while (depth > 0) {
    const std::uint32_t index = waiting[--depth];
    const Node& node = nodes_[index];
    if (node.last_box < first || !meet(wanted, node.bounds)) {
      continue;
    }
    if (node.right != 0) {
      waiting[depth++] = node.right;
      waiting[depth++] = index + 1;
      continue;
    }
    for (std::uint32_t k = node.first; k < node.first + node.count; ++k) {
      if (order_[k] >= first && meet(wanted, corners_[order_[k]]) && !visit(order_[k])) {
        return;
      }
    }
  }
}

std::optional<std::size_t> BoxTree::first_overlap(std::size_t i) const {
  std::optional<std::size_t> best;
  for_each_overlap(corners_[i], i + 1, [&](std::size_t k) {
    best = std::min(k, best.value_or(k));
    return true;
  });
  return best;
}

bool BoxTree::meets(const Box& box) const {
  bool is_met = false;
  for_each_overlap(corners_of(box), 0, [&](std::size_t) {
    is_met = true;
    return false;
  });
  return is_met;
}

std::vector<std::size_t> BoxTree::overlapping(const Box& box) const {
  std::vector<std::size_t> numbers;
  for_each_overlap(corners_of(box), 0, [&](std::size_t k) {
    numbers.push_back(k);
    return true;
  });
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace sluice::model
