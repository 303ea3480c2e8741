// Whose variable `time` is: the library's record of the times of steps, or the caller's.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "layout/catalog.hpp"
#include "model/definition.hpp"

namespace sluice::layout {

/// Is it `time`, or in a group of that name? Beside such a variable a file has no record of the
/// times by that name.
inline bool takes_time(std::string_view name) {
  const std::string_view own = time_name;
  return name.starts_with(own) && (name.size() == own.size() || name[own.size()] == '/');
}

/// Does one of these variables take it?
inline bool is_time_taken(std::span<const model::Definition> definitions) {
  return std::any_of(definitions.begin(), definitions.end(),
                     [](const model::Definition& d) { return takes_time(d.name); });
}

/// Is it the record of the times that begin_step was given? `has_time`: does the format, or the
/// file, keep one (Catalog::has_time())?
inline bool is_record_of_times(const model::Definition& d, bool has_time) {
  return has_time && d.name == time_name && !d.stepped && d.type == type_of<double>() &&
         d.shape.rank() == 1;
}

/// Is there a variable `time` of the caller's? Its values and its unit are not those of the times
/// that begin_step was given.
inline bool has_own_time(const Catalog& catalog) {
  if (const PartSet* const set = catalog.set()) {
    return std::any_of(set->variables.begin(), set->variables.end(),
                       [](const auto& v) { return v.name == time_name; });
  }
  return std::any_of(catalog.variables().begin(), catalog.variables().end(), [&](const auto& v) {
    return v.definition.name == time_name && !is_record_of_times(v.definition, catalog.has_time());
  });
}

}  // namespace sluice::layout
