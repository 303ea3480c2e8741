// The companion of a varying variable: the variable that says how many rows each step has.
#pragma once

#include <string>

#include "layout/catalog.hpp"
#include "layout/vtkhdf/rules.hpp"

namespace sluice::layout {

/// `x_length` of `x`. VTK takes whatever is in its groups for arrays, so those of arrays of VTK's
/// are in a group of their own: `VTKHDF_length/Points` of `VTKHDF/Points`.
inline std::string length_name(const std::string& variable) {
  if (!vtkhdf::is_array(variable)) {
    return variable + length_suffix;
  }
  return std::string(vtkhdf::group) + length_suffix + variable.substr(vtkhdf::group.size());
}

}  // namespace sluice::layout
