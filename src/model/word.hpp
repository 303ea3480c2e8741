// Names of formats and strategies, as used in options, messages and names of tests.
#pragma once

#include <algorithm>
#include <string_view>

namespace sluice::model {

/// Lower-case letters, digits and dashes; no dash at either end.
inline bool is_word(std::string_view name) {
  return !name.empty() && name.front() != '-' && name.back() != '-' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

}  // namespace sluice::model
