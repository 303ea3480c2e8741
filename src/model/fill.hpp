// Fill values as file bytes.
#pragma once

#include <cstddef>
#include <span>

#include "sluice/types.hpp"

namespace sluice::model {

/// Is `value` representable as a fill of `type`? Numbers: if it fits; others: only 0.
bool can_fill(const Type& type, double value);

/// Sets `bytes` (a whole number of elements) to the fill value, little-endian.
void fill(std::span<std::byte> bytes, const Type& type, double value);

}  // namespace sluice::model
