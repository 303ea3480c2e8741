// What the code of an error says of the file that was being read.
#pragma once

#include "sluice/error.hpp"

namespace sluice::commit {

/// The content is not what was written, or not known here.
constexpr bool is_of_content(Code code) {
  return code == Code::damaged || code == Code::truncated || code == Code::format ||
         code == Code::version;
}

/// The bytes are wrong, or cannot be had.
constexpr bool is_of_bytes(Code code) { return is_of_content(code) || code == Code::io; }

/// A part is not what its index knows. That it cannot be looked at is another thing.
constexpr bool is_of_lost_part(Code code) { return is_of_content(code) || code == Code::not_found; }

/// Perhaps of one variable alone, in another program's file.
constexpr bool may_be_of_variable(Code code) {
  return is_of_content(code) || code == Code::unsupported;
}

/// Of one step or checkpoint; another may be whole.
constexpr bool is_damage(Code code) {
  return is_of_bytes(code) || code == Code::not_found || code == Code::changed_outside;
}

}  // namespace sluice::commit
