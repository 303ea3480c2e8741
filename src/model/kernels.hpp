// Conversions of rows of elements from one type to another.
#pragma once

#include <cstddef>
#include <string>

#include "model/loops.hpp"
#include "sluice/types.hpp"

namespace sluice::model {

/// How to convert between two different types. A complex element counts as two numbers.
struct Converter {
  /// Converts all rows. Returns false if a value may not have fitted; first_misfit() then finds out
  /// whether one did not. Values that do not fit wrap round (integers), become infinite (floats) or
  /// are cut after their last whole character (strings).
  bool (*convert)(const Rows& rows) = nullptr;
  /// Index of the first number of the first row that does not fit; rows.run if all fit.
  std::size_t (*first_misfit)(const Rows& rows) = nullptr;
  std::size_t numbers_per_element = 1;
};

/// The converter between two types that are convertible() and not equal.
Converter converter(const Type& from, const Type& to);

/// Does the type have the size that belongs to its kind?
bool is_well_formed(const Type& type);

/// One element as text, for messages: "3.0e+39", "-7", "(1.0, 2.0e+40)", "\"abc\"".
std::string value_text(const std::byte* element, const Type& type);

}  // namespace sluice::model
