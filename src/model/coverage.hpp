// Do the blocks of all ranks cover a variable exactly once? The pure half of that question.
//
// Precondition of all but check_block(): boxes lie inside the shape of their variable (so that
// start + count and volumes fit 64 bits), and boxes of one variable have the same rank. Empty boxes
// are ignored. The results do not depend on the order of the boxes.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/box.hpp"

namespace sluice::model {

/// By variable, then start, count and rank: the order in which messages name offending blocks.
bool comes_before(const OwnedBox& a, const OwnedBox& b);

/// Two boxes of one variable that share the elements `common`; `first` comes before `second`.
struct Overlap {
  OwnedBox first;
  OwnedBox second;
  Box common;
};

/// The first pair of overlapping boxes in the order of comes_before (of the first box, then of the
/// second); empty if all boxes of each variable are disjoint. O(n log n) for n boxes of a regular
/// decomposition.
std::optional<Overlap> find_overlap(std::vector<OwnedBox> boxes);

/// Is every element of `region` in one of `parts`, which lie inside it, and none in two?
bool tiles(const Box& region, const std::vector<Box>& parts);

/// The first element of `region` in row-major order that no box covers, or empty. `disjoint_boxes`
/// may reach beyond the region. O(n log(extents)).
std::optional<Dims> find_missing(const Box& region, const std::vector<Box>& disjoint_boxes);

/// How far the free box `free` can be extended in dimension `dim` inside `region` before it
/// overlaps a box: the new count of that dimension. `free` is inside `region` and overlaps no box.
std::uint64_t free_count(const Box& free, int dim, const Box& region,
                         const std::vector<Box>& boxes);

/// Error out_of_bounds naming the variable, the block and the shape if `block` is not inside
/// `shape` or has another number of dimensions. Never overflows, whatever the numbers.
void check_block(const Dims& shape, const Box& block, const std::string& name);

}  // namespace sluice::model
