#include "model/coverage.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "model/box_tree.hpp"

namespace sluice::model {
namespace {

std::strong_ordering compare(const Dims& a, const Dims& b) {
  return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
}

/// Boxes of one variable, in order.
std::optional<Overlap> find_overlap_of_one(std::span<const OwnedBox> boxes) {
  const BoxTree tree(boxes);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    // no box before i overlaps any other, so a hit comes after it
    if (const auto j = tree.first_overlap(i)) {
      return Overlap{boxes[i], boxes[*j], *intersect(boxes[i].box, boxes[*j].box)};
    }
  }
  return std::nullopt;
}

/// The parts of `boxes` inside `region`, and the number of their elements.
std::uint64_t clip(const Box& region, const std::vector<Box>& boxes, std::vector<Box>& parts) {
  std::uint64_t volume = 0;
  for (const Box& box : boxes) {
    if (auto part = intersect(region, box)) {
      volume += part->volume();
      parts.push_back(*part);
    }
  }
  return volume;
}

}  // namespace

bool comes_before(const OwnedBox& a, const OwnedBox& b) {
  if (a.variable != b.variable) {
    return a.variable < b.variable;
  }
  if (const auto order = compare(a.box.start, b.box.start); order != 0) {
    return order < 0;
  }
  if (const auto order = compare(a.box.count, b.box.count); order != 0) {
    return order < 0;
  }
  return a.rank < b.rank;
}

std::optional<Overlap> find_overlap(std::vector<OwnedBox> boxes) {
  std::erase_if(boxes, [](const OwnedBox& owned) { return owned.box.empty(); });
  std::sort(boxes.begin(), boxes.end(), comes_before);
  const std::span<const OwnedBox> all(boxes);
  std::size_t first = 0;
  while (first < all.size()) {
    std::size_t last = first;
    while (last < all.size() && all[last].variable == all[first].variable) {
      ++last;
    }
    if (auto overlap = find_overlap_of_one(all.subspan(first, last - first))) {
      return overlap;
    }
    first = last;
  }
  return std::nullopt;
}

bool tiles(const Box& region, const std::vector<Box>& parts) {
  std::uint64_t volume = 0;
  for (const Box& part : parts) {
    volume += part.volume();
    if (volume > region.volume()) {
      return false;
    }
  }
  if (volume != region.volume() || parts.size() < 2) {
    return volume == region.volume();
  }
  std::vector<OwnedBox> boxes;
  for (const Box& part : parts) {
    boxes.push_back({part});
  }
  return !find_overlap(std::move(boxes));
}

std::optional<Dims> find_missing(const Box& region, const std::vector<Box>& disjoint_boxes) {
  std::vector<Box> parts;
  if (clip(region, disjoint_boxes, parts) == region.volume()) {
    return std::nullopt;
  }
  // Bisect the slowest dimension and continue in the first half that has a hole, until one element
  // is left: at most 64 steps a dimension.
  Box rest = region;
  for (int dim = 0; dim < rest.start.rank(); ++dim) {
    while (rest.count[dim] > 1) {
      Box half = rest;
      half.count[dim] = rest.count[dim] / 2;
      std::vector<Box> inside;
      if (clip(half, parts, inside) == half.volume()) {
        half.start[dim] = rest.start[dim] + half.count[dim];
        half.count[dim] = rest.count[dim] - half.count[dim];
        inside.clear();
        clip(half, parts, inside);
      }
      rest = half;
      parts.swap(inside);
    }
  }
  return rest.start;
}

std::uint64_t free_count(const Box& free, int dim, const Box& region,
                         const std::vector<Box>& boxes) {
  Box longer = free;
  longer.count[dim] = region.count[dim] - (free.start[dim] - region.start[dim]);
  std::uint64_t count = longer.count[dim];
  for (const Box& box : boxes) {
    if (const auto common = intersect(longer, box)) {
      count = std::min(count, common->start[dim] - free.start[dim]);
    }
  }
  return count;
}

void check_block(const Dims& shape, const Box& block, const std::string& name) {
  if (block.start.rank() != shape.rank() || block.count.rank() != shape.rank()) {
    throw Error(Code::out_of_bounds, name + ": block " + block.text() +
                                         " does not have the dimensions of shape " + shape.text());
  }
  if (!contains(whole(shape), block)) {
    throw Error(Code::out_of_bounds,
                name + ": block " + block.text() + " is outside shape " + shape.text());
  }
}

}  // namespace sluice::model
