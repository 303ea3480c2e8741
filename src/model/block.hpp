// A block: a box of a variable and the caller's memory that holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/box.hpp"
#include "sluice/types.hpp"

namespace sluice::model {

/// The caller's array. `shape` is the whole array in memory (row-major, dense), `start` the place
/// in it where the block begins: with ghost cells shape is larger than the block. Not owned: the
/// memory must stay unchanged until the step has ended.
struct ConstMemory {
  const std::byte* data = nullptr;
  Type type;
  Dims shape;
  Dims start;
};

/// The same for reading into.
struct Memory {
  std::byte* data = nullptr;
  Type type;
  Dims shape;
  Dims start;
};

/// Makes the elements of a block when they are wanted, for blocks that do not lie in memory.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  /// The elements of `part` (inside the block's box) as dense file bytes. Local; may throw.
  virtual void read(const Box& part, std::span<std::byte> out) const = 0;
};

/// What one rank puts of one variable in one step.
struct Block {
  std::uint32_t variable = 0;  ///< index into the file's list of variables
  Box box;                     ///< without the step dimension
  ConstMemory memory;
  bool allow_overflow = false;          ///< narrowing may lose values instead of failing
  const BlockSource* source = nullptr;  ///< used instead of `memory` where it is set; not owned
};

}  // namespace sluice::model
