// Names of element types, and the type strings of numpy, in both directions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sluice/types.hpp"

namespace sluice::model {

/// The type with that type_name(), if there is one. Types of text have a length, and no name here.
std::optional<Type> type_named(std::string_view name);

/// "<f4", "|b1", "|S8", as numpy writes it.
std::string numpy_type(const Type& type, bool big_endian = false);

struct NumpyType {
  Type type;
  bool big_endian = false;  ///< only where the order of bytes matters
};
/// The inverse; nothing for types that Sluice does not have. The order of bytes may be left out.
std::optional<NumpyType> numpy_type_named(std::string_view text);

}  // namespace sluice::model
