// Between the caller's memory and file bytes: packing, conversion of types, byte order.
//
// File bytes are always little-endian, dense and row-major here. Conversions never change the kind
// of a number silently: integer -> float is allowed, float -> integer and complex -> real are not.
#pragma once

#include <cstddef>
#include <span>

#include "model/block.hpp"

namespace sluice::model {

/// May memory of type `from` be stored as `to` (and read back the other way)? Equal types; any
/// integer or float to any integer or float except float to integer; complex to complex;
/// boolean and strings only to themselves (a shorter string into a longer one is padded).
bool convertible(const Type& from, const Type& to);

/// Is `part` (in global coordinates) one dense run in memory whose bytes are already the file's
/// bytes?
bool is_dense(const ConstMemory& memory, const Box& block, const Box& part, const Type& file_type);

/// Address of the first element of `part`.
const std::byte* address_of(const ConstMemory& memory, const Box& block, const Box& part);

/// Copies the elements of `part` (global coordinates, inside `block`) to `out` as dense file bytes:
/// part.volume() * file_type.bytes. Error overflow, naming the first value that does not fit,
/// unless allow_overflow; Error type_mismatch if convertible() returns false.
void pack(const ConstMemory& memory, const Box& block, const Box& part, const Type& file_type,
          bool allow_overflow, std::span<std::byte> out);

/// The reverse: dense file bytes of `part` into the caller's array, converted from `file_type`.
/// Elements of the array outside `part` are not changed.
void unpack(std::span<const std::byte> bytes, const Type& file_type, const Box& block,
            const Box& part, const Memory& memory, bool allow_overflow);

/// Copies a box between two dense row-major arrays of elements of `element_bytes`: the box `part`
/// lies in both `from_box` (the extent of `from`) and `to_box` (that of `to`).
void copy_box(const std::byte* from, const Box& from_box, std::byte* to, const Box& to_box,
              const Box& part, std::size_t element_bytes);

/// Reverses the bytes of every number in place (of a complex number, each half by itself; strings
/// and single bytes are not changed).
void swap_bytes(std::span<std::byte> bytes, const Type& type);

}  // namespace sluice::model
