// Fill values as bytes: one element of a variable's type, little-endian; no bytes at all are zeros.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "sluice/fill.hpp"

namespace sluice::model {

/// The value as an element of `type`; empty for zero; nothing where the type does not hold it.
/// Numbers keep their value, except that a floating-point one may be rounded to single precision.
std::optional<std::vector<std::byte>> fill_bytes(const Fill& value, const Type& type);

/// The bytes of an element that is a fill value: none where they are all zero.
std::vector<std::byte> fill_element(std::span<const std::byte> element);

/// Sets `bytes` (a whole number of elements of `type`) to the fill value `element`.
void fill(std::span<std::byte> bytes, const Type& type, std::span<const std::byte> element);

}  // namespace sluice::model
