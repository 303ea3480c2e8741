// How a copy names what it leaves out.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "layout/format.hpp"
#include "model/definition.hpp"

namespace sluice::commit {

inline std::string attribute_left_out(const model::Attribute& attribute, const std::string& why) {
  return (attribute.owner.empty() ? "the file" : attribute.owner) + ": attribute " +
         attribute.name + " (" + why + ")";
}

/// The time of a step in a copy. Where the format holds none it is NaN, and they are listed once,
/// as the last of `left_out`.
inline double time_in_copy(double time, const layout::Format& format,
                           std::vector<std::string>& left_out) {
  if (format.times || std::isnan(time)) {
    return time;
  }
  std::string times =
      std::string("the times of the steps (format ") + format.option + " holds none)";
  if (left_out.empty() || left_out.back() != times) {
    left_out.push_back(std::move(times));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace sluice::commit
