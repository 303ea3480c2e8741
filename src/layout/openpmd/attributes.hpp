// Attributes of the openPMD standard 1.1: the types that it asks for, and what it requires where
// the caller says nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/definition.hpp"

namespace sluice::layout::openpmd {

/// The value in the type that the standard asks for, numbers as doubles and so on; as it is where
/// the standard does not name the attribute; empty where it cannot be one.
std::optional<model::AttributeValue> as_stored(std::string_view name,
                                               const model::AttributeValue& value);
/// Which type the standard asks for, in words.
std::string form_of(std::string_view name);
/// The integers of a value, one or a list; empty if it has others.
std::optional<std::vector<std::int64_t>> integers_in(const model::AttributeValue& value);
/// Bits of an unsigned attribute; 0 for others.
int unsigned_bits(std::string_view name);

/// Does the standard say what the attribute of the file is, which the library writes?
bool is_of_standard(std::string_view attribute);
/// Why the format does not hold it; "" where it does.
std::string refuse_attribute(const model::Attribute& attribute);

/// Those of the root group.
std::vector<model::Attribute> attributes_of_file();
/// Those of the group of an iteration that the caller need not set.
std::vector<model::Attribute> attributes_of_iteration(double time);

/// A variable that an iteration has.
struct Component {
  std::string name;   ///< `meshes/E/x`
  model::Dims shape;  ///< in this iteration
};

/// All attributes below the group of an iteration: those that were set, in the form of the
/// standard, those that it requires beside them, and the shapes of constant components (groups with
/// the attribute `value`). Owners without a component are groups.
///
/// Error invalid_argument for a constant mesh without a shape.
/// @param set  of meshes, species, records and components; the last one of a name counts
std::vector<model::Attribute> attributes_below(const std::vector<Component>& components,
                                               const std::vector<model::Attribute>& set);

}  // namespace sluice::layout::openpmd
