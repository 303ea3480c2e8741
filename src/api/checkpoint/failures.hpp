// What a failure says of a checkpoint and its file.
#pragma once

#include "commit/publish/damage.hpp"
#include "sluice/error.hpp"

namespace sluice::detail {

using commit::is_damage;

/// May opening the file anew help?
inline bool is_of_storage(Code code) {
  return is_damage(code) || code == Code::no_space || code == Code::wrong_state ||
         code == Code::permission || code == Code::locked;
}

}  // namespace sluice::detail
