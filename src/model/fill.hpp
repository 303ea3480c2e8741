// Fill values as bytes: one element of a variable's type, little-endian; no bytes stand for zeros.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "sluice/fill.hpp"

namespace sluice::model {

/// The value as an element of `type`; no bytes for zero; empty optional if the type cannot hold it.
/// Numbers keep their value, except that a floating-point one may be rounded to single precision.
std::optional<std::vector<std::byte>> fill_bytes(const Fill& value, const Type& type);

/// The bytes of an element as a fill value: no bytes if all are zero.
std::vector<std::byte> fill_element(std::span<const std::byte> element);

/// Sets `bytes` (a whole number of elements of `type`) to the fill value `element`.
void fill(std::span<std::byte> bytes, const Type& type, std::span<const std::byte> element);

}  // namespace sluice::model
