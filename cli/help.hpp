// The help texts of the command.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace sluice::cli {

/// Options as `--name TYPE   what it is`; of verbs the one-line description.
std::shared_ptr<CLI::FormatterBase> make_formatter();

/// The group of verbs for the files of single codes.
inline constexpr const char* tools_of_codes = "Tools of single codes";

/// Adds a verb with its description and examples.
CLI::App* add_verb(CLI::App& app, const char* name, const char* summary,
                   const std::string& explanation, const char* examples);

/// Takes the numbers from `least` to `most`; CLI::Range takes NaN too.
CLI::Validator number_between(double least, double most);

}  // namespace sluice::cli
