// How a copy names what it leaves out.
#pragma once

#include <string>

#include "model/definition.hpp"

namespace sluice::commit {

inline std::string attribute_left_out(const model::Attribute& attribute, const std::string& why) {
  return (attribute.owner.empty() ? "the file" : attribute.owner) + ": attribute " +
         attribute.name + " (" + why + ")";
}

}  // namespace sluice::commit
