// A block: a box of a variable and the caller's memory that holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/box.hpp"
#include "sluice/types.hpp"

namespace sluice::model {

/// The caller's array. `shape` is the shape of the whole array in memory (row-major, dense),
/// `start` the element of it at which the block begins: with ghost cells the array is larger than
/// the block. Not owned: the memory must stay unchanged until the step has ended.
struct ConstMemory {
  const std::byte* data = nullptr;
  Type type;
  Dims shape;
  Dims start;
};

/// The same for reading: the data is stored here.
struct Memory {
  std::byte* data = nullptr;
  Type type;
  Dims shape;
  Dims start;
};

/// Produces the elements of a block on demand, for blocks that are not in memory.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// Writes the elements of `part` (inside the block's box) as dense file bytes. Local; may throw.
  virtual void read(const Box& part, std::span<std::byte> out) const = 0;
};

/// The block that one rank puts into one variable in one step.
struct Block {
  std::uint32_t variable = 0;  ///< index into the file's list of variables
  Box box;                     ///< without the step dimension
  ConstMemory memory;
  bool allow_overflow = false;          ///< values that do not fit are narrowed instead of refused
  const BlockSource* source = nullptr;  ///< used instead of `memory` if it is set; not owned
};

}  // namespace sluice::model
