// Attributes of the group VTKHDF: what may be set, and what follows from the arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/definition.hpp"

namespace sluice::layout::vtkhdf {

/// Of the group VTKHDF. It follows from what is written.
inline constexpr const char* version_name = "Version";
bool is_version(const model::Attribute& attribute);

/// Why the format does not hold it; "" where it does.
std::string refuse_attribute(const model::Attribute& attribute);

/// The attribute WholeExtent of an image with an array of this shape, slowest dimension first: the
/// first and the last point along x, y and z.
std::vector<std::int64_t> extent_of(const model::Dims& shape, bool is_of_points);

}  // namespace sluice::layout::vtkhdf
