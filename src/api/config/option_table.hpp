// The table of all options of a file: name in sluice.toml, in SLUICE_<NAME> and in the C
// interface's option string, and conversion of its value from and to text. What each means is told
// by sluice/options.hpp and docs/settings.md.
//
// Invariant: set(get(options)) changes nothing, for every option and every value.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sluice/options.hpp"

namespace sluice::settings {

struct Option {
  const char* name;
  std::string (*get)(const Options& options);
  /// Error invalid_argument says what is expected.
  void (*set)(Options& options, const std::string& text);
};

std::span<const Option> option_table();
/// nullptr if there is none.
const Option* find_option(std::string_view name);

/// The number of letters to insert, remove or replace to turn `a` into `b` (edit distance).
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The option with the name nearest to `name`.
const Option& nearest_option(std::string_view name);

}  // namespace sluice::settings
