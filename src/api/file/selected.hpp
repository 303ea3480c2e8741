// What a sluice::Selection says of a variable: its part, and where that lies in memory.
//
// Invariant: memory whose size is known is exactly that of the selection: Error invalid_argument
// names both, before anything is read or written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/block.hpp"
#include "sluice/sluice.hpp"

namespace sluice::detail {

/// Elements of the caller's memory; nothing where only its address is known.
using Size = std::optional<std::uint64_t>;

inline model::Dims dims_of(const Shape& shape) {
  return model::Dims(std::span<const std::uint64_t>(shape));
}

/// The part of a variable of `shape`. In one dimension a selection without a count, but with a
/// start, has as many elements as the memory.
model::Box box_of(const Selection& selection, const model::Dims& shape, const Size& size);

/// Shape and start of the caller's array: dense unless the selection says otherwise.
template <class Memory, class Pointer>
Memory memory_of(Pointer data, const Type& type, const Selection& selection,
                 const model::Box& box) {
  Memory memory;
  memory.data = static_cast<decltype(memory.data)>(data);
  memory.type = type;
  memory.shape = selection.memory_shape.empty() ? box.count : dims_of(selection.memory_shape);
  memory.start = selection.memory_start.empty() ? model::Dims::filled(memory.shape.rank(), 0)
                                                : dims_of(selection.memory_start);
  return memory;
}

/// Error invalid_argument, which `what` begins, unless the memory has as many elements as
/// `selection` says, or `count`, the elements of the part.
void require_size(const std::string& what, const Selection& selection, const model::Dims& count,
                  const Size& size);

/// The same for `rows` rows of a variable of `shape`.
void require_row_size(const std::string& what, std::uint64_t rows, const model::Dims& shape,
                      const Size& size);
/// The number of rows in a memory of `size` elements. Error invalid_argument if they are not whole.
std::uint64_t rows_in(const std::string& what, const model::Dims& shape, std::uint64_t size);

}  // namespace sluice::detail
