// A group that is called as the times of steps, in a copy.
#pragma once

#include <algorithm>
#include <vector>

#include "commit/read/input.hpp"
#include "layout/format.hpp"
#include "layout/times.hpp"
#include "model/definition.hpp"
#include "sluice/error.hpp"

namespace sluice::commit {

/// Are the attributes of `time` those of the times of steps, or of a variable? Otherwise they are
/// those of a group.
inline bool has_attributes_of_times(const Input& input) {
  const std::vector<InputVariable>& variables = input.variables();
  const auto is_time = [](const InputVariable& v) {
    return v.definition.name == layout::time_name;
  };
  const auto takes_it = [](const InputVariable& v) {
    return layout::takes_time(v.definition.name);
  };
  return std::any_of(variables.begin(), variables.end(), is_time) ||
         (input.steps() != 0 && std::none_of(variables.begin(), variables.end(), takes_it));
}

/// Error unsupported where a file with these variables cannot have attributes of a group `time`:
/// the writer keeps them for times that it may be given later.
inline void check_group_time(const layout::Format& format,
                             const std::vector<model::Definition>& written) {
  const bool is_there =
      format.is_store() || (format.time_variable && layout::is_time_taken(written));
  if (!is_there) {
    throw Error(Code::unsupported,
                "without variables in it the group is not made: its name is that "
                "of the times of steps");
  }
}

}  // namespace sluice::commit
