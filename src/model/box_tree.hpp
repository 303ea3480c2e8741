// A tree of bounding boxes over the boxes of one variable, to find those that overlap a given one.
//
// Invariants: node i's children are i + 1 and node.right; a leaf holds at most leaf_size boxes;
// the tree is balanced, so its depth is below 64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/box.hpp"

namespace sluice::model {

class BoxTree {
 public:
  /// Builds the tree over `boxes`: none empty, all of the same rank.
  explicit BoxTree(std::span<const OwnedBox> boxes);

  /// The lowest j > i whose box overlaps that of i.
  std::optional<std::size_t> first_overlap(std::size_t i) const;
  /// Does any box overlap `box`, which is not empty?
  bool meets(const Box& box) const;
  /// The numbers of all boxes that overlap `box`, which is not empty; ascending.
  std::vector<std::size_t> overlapping(const Box& box) const;

 private:
  static constexpr std::uint32_t leaf_size = 8;

  /// Corners: start and one past the end.
  struct Corners {
    Dims low;
    Dims high;
  };
  struct Node {
    Corners bounds;
    std::uint32_t right = 0;  ///< 0: a leaf
    std::uint32_t first = 0;  ///< of a leaf, in order_
    std::uint32_t count = 0;
    std::uint32_t last_box = 0;  ///< highest box number in the subtree
  };

  std::uint32_t build(std::uint32_t first, std::uint32_t count);
  Node bound(std::uint32_t first, std::uint32_t count) const;
  int widest_dimension(std::uint32_t first, std::uint32_t count) const;
  static Corners corners_of(const Box& box);
  /// Calls visit(number) for boxes from number `first` on that overlap `wanted`, in no order, until
  /// it returns false.
  template <class Visit>
  void for_each_overlap(const Corners& wanted, std::uint64_t first, Visit&& visit) const;
  bool meet(const Corners& a, const Corners& b) const;

  int rank_ = 0;
  std::vector<Corners> corners_;      // by number of box
  std::vector<std::uint32_t> order_;  // numbers of boxes, leaf by leaf
  std::vector<Node> nodes_;
};

}  // namespace sluice::model
