// A box as the sequence of its elements, and a range of that sequence as boxes.
#pragma once

#include <cstdint>
#include <vector>

#include "model/block.hpp"

namespace sluice::model {

/// Elements first .. first + count - 1 of `box` in row-major order, as boxes whose elements, one
/// box after the other, are these in order: at most 2 * rank - 1 boxes (1 for a scalar). The range
/// must be inside the box.
std::vector<Box> boxes_of_range(const Box& box, std::uint64_t first, std::uint64_t count);

/// A block as the sequence of its elements in row-major order, for files that keep blocks of any
/// shape in a one-dimensional array.
class LinearSource final : public BlockSource {
 public:
  /// `block` is in coordinates of its variable; its first element is element `offset` of the array.
  /// What the block refers to must outlive the object.
  LinearSource(const Block& block, const Type& file_type, std::uint64_t offset)
      : block_(block), type_(file_type), offset_(offset) {}

  void read(const Box& part, std::span<std::byte> out) const override;

 private:
  Block block_;
  Type type_;
  std::uint64_t offset_;
};

/// A block in coordinates relative to `origin`. Errors name the original coordinates.
class MovedSource final : public BlockSource {
 public:
  /// What the block refers to must outlive the object.
  MovedSource(const Block& block, const Type& file_type, const Dims& origin)
      : block_(block), type_(file_type), origin_(origin) {}

  void read(const Box& part, std::span<std::byte> out) const override;

 private:
  Block block_;
  Type type_;
  Dims origin_;
};

}  // namespace sluice::model
