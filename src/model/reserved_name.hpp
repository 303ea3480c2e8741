// The names that Sluice keeps for itself in every file.
#pragma once

#include <string>
#include <string_view>

#include "sluice/error.hpp"

namespace sluice::model {

/// Is it the group /sluice, or in it?
inline bool is_reserved(std::string_view name) {
  return name == "sluice" || name.starts_with("sluice/");
}

/// Error bad_name for such a name.
inline void check_not_reserved(const std::string& name) {
  if (is_reserved(name)) {
    throw Error(Code::bad_name,
                name + ": the group /sluice belongs to the library: choose another name");
  }
}

}  // namespace sluice::model
