// Packing and unpacking: from a part of a block to the loops that move its elements.
#include <bit>

#include "model/convert.hpp"
#include "model/kernels.hpp"
#include "model/loops.hpp"
#include "model/numbering.hpp"

namespace sluice::model {
namespace {

static_assert(std::endian::native == std::endian::little,
              "file bytes are little-endian: a big-endian host needs swap_bytes() in pack() and "
              "unpack() and tests on such a host");

/// Coordinates of the first element of `part` in the caller's array.
Dims place_in_memory(const Dims& memory_start, const Box& block, const Box& part) {
  Dims at = memory_start;
  for (int i = 0; i < at.rank(); ++i) {
    at[i] += part.start[i] - block.start[i];
  }
  return at;
}

/// Neither wrong extents of the caller nor a wrong part may lead to an access outside the array.
template <class AnyMemory>
void check_place(const AnyMemory& memory, const Box& block, const Box& part) {
  if (!contains(block, part)) {
    throw Error(Code::internal, "part " + part.text() + " is not inside block " + block.text());
  }
  if (!contains(whole(memory.shape), Box{memory.start, block.count})) {
    throw Error(Code::invalid_argument, "the array in memory of shape " + memory.shape.text() +
                                            " does not hold the block " + block.text() +
                                            " from its element " + memory.start.text());
  }
  if (memory.data == nullptr && !part.empty()) {
    throw Error(Code::invalid_argument, "no memory (a null pointer) for block " + block.text());
  }
}

void check_types(const Type& from, const Type& to) {
  if (!convertible(from, to)) {
    throw Error(Code::type_mismatch, type_name(from) + " cannot be converted to " + type_name(to) +
                                         ": convert it in the program, or define the variable "
                                         "with another type");
  }
}

void check_size(std::size_t bytes, const Box& part, const Type& type) {
  if (bytes != checked_product(part.volume(), type.bytes, "bytes of a part")) {
    throw Error(Code::internal, std::to_string(bytes) + " bytes for part " + part.text() + " of " +
                                    type_name(type));
  }
}

[[noreturn]] void refuse_value(const std::byte* element, std::uint64_t ordinal, const Box& part,
                               const Type& from, const Type& to) {
  Dims at = part.start;
  for (int i = part.count.rank() - 1; i >= 0; --i) {
    at[i] += ordinal % part.count[i];
    ordinal /= part.count[i];
  }
  throw Error(Code::overflow, "value " + value_text(element, from) + " at " + position_text(at) +
                                  " does not fit " + type_name(to));
}

/// Rows in which a value may not fit: throws if one does not.
void check_values(const Converter& conversion, Rows rows, std::uint64_t ordinal, const Box& part,
                  const Type& from, const Type& to) {
  for (; rows.rows > 0; --rows.rows) {
    const std::size_t number = conversion.first_misfit(rows);
    if (number < rows.run) {
      const std::size_t element = number / conversion.numbers_per_element;
      refuse_value(rows.from + element * from.bytes, ordinal + element, part, from, to);
    }
    rows.from += rows.from_step;
    ordinal += rows.run / conversion.numbers_per_element;
  }
}

void move_elements(const Loops& loops, const std::byte* from, const Type& from_type, std::byte* to,
                   const Type& to_type, const Box& part, bool allow_overflow) {
  if (from_type == to_type) {
    for_each_rows(loops, from, from_type.bytes, to, to_type.bytes,
                  [](const Rows& rows, std::uint64_t) { copy_rows(rows); });
    return;
  }
  const Converter conversion = converter(from_type, to_type);
  for_each_rows(loops, from, from_type.bytes, to, to_type.bytes,
                [&](const Rows& elements, std::uint64_t ordinal) {
                  Rows numbers = elements;
                  numbers.run *= conversion.numbers_per_element;
                  if (!conversion.convert(numbers) && !allow_overflow) {
                    check_values(conversion, numbers, ordinal, part, from_type, to_type);
                  }
                });
}

}  // namespace

bool is_dense(const ConstMemory& memory, const Box& block, const Box& part, const Type& file_type) {
  check_place(memory, block, part);
  if (memory.type != file_type) {
    return false;
  }
  if (part.empty()) {
    return true;
  }
  const Loops loops = make_loops(part.count, memory.shape, part.count);
  return loops.depth == 0 && loops.rows.count == 1;
}

const std::byte* address_of(const ConstMemory& memory, const Box& block, const Box& part) {
  check_place(memory, block, part);
  if (part.empty()) {
    return memory.data;
  }
  return memory.data + linear_offset(place_in_memory(memory.start, block, part), memory.shape) *
                           memory.type.bytes;
}

void pack(const ConstMemory& memory, const Box& block, const Box& part, const Type& file_type,
          bool allow_overflow, std::span<std::byte> out) {
  check_types(memory.type, file_type);
  check_size(out.size(), part, file_type);
  const std::byte* from = address_of(memory, block, part);
  if (!part.empty()) {
    move_elements(make_loops(part.count, memory.shape, part.count), from, memory.type, out.data(),
                  file_type, part, allow_overflow);
  }
}

void unpack(std::span<const std::byte> bytes, const Type& file_type, const Box& block,
            const Box& part, const Memory& memory, bool allow_overflow) {
  check_types(file_type, memory.type);
  check_size(bytes.size(), part, file_type);
  check_place(memory, block, part);
  if (!part.empty()) {
    std::byte* to =
        memory.data +
        linear_offset(place_in_memory(memory.start, block, part), memory.shape) * memory.type.bytes;
    move_elements(make_loops(part.count, part.count, memory.shape), bytes.data(), file_type, to,
                  memory.type, part, allow_overflow);
  }
}

}  // namespace sluice::model
