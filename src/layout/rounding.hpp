// Which variables are rounded before they are compressed, and how: pure, as layout/encoding.
#pragma once

#include <optional>
#include <string>

#include "codec/quantise.hpp"
#include "model/definition.hpp"

namespace sluice::layout {

/// By which a rounded variable refers to the variable that says how (CF 1.12).
inline constexpr const char* quantization_attribute = "quantization";
/// The name of that variable, or how it begins.
inline constexpr const char* quantization_container = "quantization_info";
inline bool says_rounding(const std::string& variable) {
  return variable.rfind(quantization_container, 0) == 0;
}
/// Is it such a variable of Sluice's? Rounded variables refer to it from the first commit on, and
/// nobody puts it.
inline bool says_rounding(const model::Definition& definition) {
  return says_rounding(definition.name) && !definition.stepped && definition.shape.empty();
}

/// How the values of a variable are rounded before they are compressed; nothing where they are not.
/// Error invalid_argument where its elements are no float32 or float64, or have fewer digits.
std::optional<codec::Rounding> rounding_of(const model::Definition& definition);
/// Does an attribute of that name say how its variable was rounded?
bool is_about_rounding(const std::string& attribute);
/// Does a variable come back as it was put, rounded or not? Not if a lossy filter changes it later:
/// then there is nothing that a checksum of values could be of.
bool keeps_values(const model::Definition& definition);
/// What of a file's default compression is for a variable: integers are neither rounded nor changed
/// by a lossy filter.
std::string compress_for(const Type& type, const std::string& compress);

}  // namespace sluice::layout
