// VTKHDF: which variables of a file are arrays of VTK's, by the names of its specification.
//
// Everything of VTK is below the group VTKHDF. Variables have the names of the arrays (Points,
// Connectivity, PointData/u, ...); the counts and offsets of parts and steps are the library's own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/definition.hpp"

namespace sluice::layout::vtkhdf {

inline constexpr std::string_view group = "VTKHDF";
inline constexpr std::string_view prefix = "VTKHDF/";
inline constexpr const char* steps_group = "VTKHDF/Steps";
/// Attribute of the group: which data set of VTK the file holds.
inline constexpr const char* type_attribute = "Type";

enum class Kind : std::uint8_t { none, image, unstructured, poly };
/// What the attribute says; none for other texts.
Kind kind_named(std::string_view text);

/// Are the values of the variable an array of VTK's?
inline bool is_array(std::string_view name) { return name.starts_with(prefix); }
/// Does the library keep it: counts of parts, offsets of steps?
bool is_bookkeeping(std::string_view name);

/// Why the format does not hold it; "" where it does.
std::string refuse_definition(const model::Definition& definition);

}  // namespace sluice::layout::vtkhdf
