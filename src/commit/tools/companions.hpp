// Variables that the writer creates itself, and a conversion leaves to it.
#pragma once

#include <algorithm>
#include <string>

#include "commit/read/input.hpp"
#include "layout/lengths.hpp"
#include "layout/times.hpp"

namespace sluice::commit {

/// Is it the name of the lengths of a varying variable?
inline bool is_length_of_another(const Input& input, const std::string& name) {
  return std::any_of(
      input.variables().begin(), input.variables().end(), [&](const InputVariable& v) {
        return v.definition.varying && layout::length_name(v.definition.name) == name;
      });
}

/// Does it hold the times of steps, or the lengths of a varying variable? Without steps the writer
/// creates no times: a variable of that name is the user's, even an empty one.
inline bool is_companion(const Input& input, const model::Definition& d) {
  const std::vector<InputVariable>& variables = input.variables();
  const bool has_times = input.steps() != 0 ||
                         std::any_of(variables.begin(), variables.end(),
                                     [](const InputVariable& v) { return v.definition.stepped; });
  const bool is_time = layout::is_record_of_times(d, has_times) && input.written_by_sluice() &&
                       !input.has_own_time() && d.shape == model::Dims{input.steps()};
  return is_time || is_length_of_another(input, d.name);
}

}  // namespace sluice::commit
