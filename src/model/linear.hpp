// A box as a row of its elements: which boxes a stretch of that row is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "model/block.hpp"

namespace sluice::model {

/// Elements first .. first + count - 1 of `box` in row-major order, as boxes whose elements, one
/// box after the other, are these in order: at most 2 * rank - 1 (1 for a scalar). The stretch must
/// lie inside the box.
std::vector<Box> boxes_of_range(const Box& box, std::uint64_t first, std::uint64_t count);

/// A block, given element after element in row-major order: what a file takes that keeps blocks of
/// any shape in a one-dimensional array.
class LinearSource final : public BlockSource {
 public:
  /// `block` is in coordinates of its variable; in the array its first element is `offset`. What
  /// the block refers to must outlive the object.
  LinearSource(const Block& block, const Type& file_type, std::uint64_t offset)
      : block_(block), type_(file_type), offset_(offset) {}

  void read(const Box& part, std::span<std::byte> out) const override;

 private:
  Block block_;
  Type type_;
  std::uint64_t offset_;
};

/// A block in coordinates whose origin is `origin` of its own. Errors name its own.
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
