// What a failure says of a checkpoint and its file.
#pragma once

#include "sluice/error.hpp"

namespace sluice::detail {

/// Of the bytes of one checkpoint; another may be whole.
inline bool is_damage(Code code) {
  return code == Code::damaged || code == Code::truncated || code == Code::format ||
         code == Code::version || code == Code::io || code == Code::not_found ||
         code == Code::changed_outside;
}

/// May opening the file anew help?
inline bool is_of_storage(Code code) {
  return is_damage(code) || code == Code::no_space || code == Code::wrong_state ||
         code == Code::permission || code == Code::locked;
}

}  // namespace sluice::detail
