// The one place that knows TOML.
#define TOML_ENABLE_FORMATTERS 0
// A malformed file is an error of the parser; some of its assertions end the program first.
#define TOML_ASSERT(expression) static_cast<void>(0)
#include <array>
#include <charconv>
#include <toml++/toml.h>

#include "api/config/option_table.hpp"
#include "api/config/settings.hpp"
#include "model/name.hpp"
#include "sluice/error.hpp"

namespace sluice::settings {

namespace {

std::string place(const std::string& file, const toml::node& node) {
  return file + ", line " + std::to_string(node.source().begin.line);
}

/// A value as the option table reads it: lists with commas, tables (of hints) as key=value.
std::string text_of(const toml::node& node, const std::string& where) {
  if (const auto* text = node.as_string()) {
    return text->get();
  }
  if (const auto* number = node.as_integer()) {
    return std::to_string(number->get());
  }
  if (const auto* flag = node.as_boolean()) {
    return flag->get() ? "true" : "false";
  }
  if (const auto* real = node.as_floating_point()) {
    std::array<char, 32> digits{};
    const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), real->get());
    return {digits.data(), result.ptr};
  }
  std::string joined;
  if (const auto* list = node.as_array()) {
    for (const toml::node& item : *list) {
      joined += (joined.empty() ? "" : ",") + text_of(item, where);
    }
    return joined;
  }
  if (const auto* table = node.as_table()) {
    for (const auto& [key, value] : *table) {
      joined += (joined.empty() ? "" : ",") + std::string(key.str()) + "=" + text_of(value, where);
    }
    return joined;
  }
  throw Error(Code::invalid_argument, where + ": dates and times cannot be values of an option");
}

const Option& known_option(std::string_view key, const std::string& where) {
  const Option* option = find_option(key);
  if (option == nullptr) {
    throw Error(Code::invalid_argument, where + ": no option is called \"" + std::string(key) +
                                            "\": did you mean " + nearest_option(key).name + "?");
  }
  return *option;
}

/// One option, checked even where it is not for this output.
Override take_one(const toml::key& key, const toml::node& value, const std::string& file,
                  const std::string& from) {
  const std::string where = place(file, value);
  const Option& option = known_option(key.str(), where);
  Override found{option.name, text_of(value, where), from};
  try {
    Options scratch;
    option.set(scratch, found.value);
  } catch (const Error& e) {
    throw Error(e.code(), where + ": " + option.name + ": " + e.what());
  }
  return found;
}

std::string trimmed_text(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  const std::size_t last = text.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

/// Line `number` of `text`, counted from 1.
std::string line_of(const std::string& text, std::size_t number) {
  std::size_t at = 0;
  for (; number > 1 && at != std::string::npos; --number) {
    at = text.find('\n', at);
    at += at == std::string::npos ? 0 : 1;
  }
  return at == std::string::npos ? "" : trimmed_text(text.substr(at, text.find('\n', at) - at));
}

/// What is wrong with a line, beside what the parser says: most often text without its quotes.
std::string fault_of_line(const std::string& line, std::string_view description) {
  const std::size_t equals = line.find('=');
  const std::string value =
      equals == std::string::npos ? "" : trimmed_text(line.substr(equals + 1));
  const Option* option = find_option(trimmed_text(line.substr(0, equals)));
  constexpr const char* word = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-";
  const bool lacks_quotes = option != nullptr && value.find_first_of(word) == 0 &&
                            value.find('"') == std::string::npos &&
                            description.find("value type") != std::string_view::npos;
  if (lacks_quotes) {
    return std::string(option->name) + ": " + model::quoted(value) +
           " is neither a number, true, false nor text in quotes: write " + option->name + " = " +
           model::quoted(value);
  }
  return std::string(description) + (line.empty() ? "" : ", in " + model::quoted(line));
}

toml::table parse(const std::string& text, const std::string& file) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& e) {
    const std::size_t line = e.source().begin.line;
    throw Error(Code::format, file + ", line " + std::to_string(line) + ": " +
                                  fault_of_line(line_of(text, line), e.description()));
  }
}

bool is_for(std::string_view table, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::size_t dot = name.rfind('.');
  return table == name || table == path ||
         (dot != std::string::npos && table == name.substr(0, dot));
}

}  // namespace

std::vector<Override> overrides_of_toml(const std::string& text, const std::string& file,
                                        const std::string& path) {
  const toml::table root = parse(text, file);
  std::vector<Override> general;
  std::vector<Override> special;
  for (const auto& [key, value] : root) {
    const toml::table* table = value.as_table();
    if (table == nullptr || find_option(key.str()) != nullptr) {
      general.push_back(take_one(key, value, file, file));
      continue;
    }
    const std::string from = file + " [" + std::string(key.str()) + "]";
    for (const auto& [inner, inner_value] : *table) {
      Override found = take_one(inner, inner_value, file, from);
      if (is_for(key.str(), path)) {
        special.push_back(std::move(found));
      }
    }
  }
  general.insert(general.end(), special.begin(), special.end());
  return general;
}

}  // namespace sluice::settings

namespace sluice {

Options parse_options(const std::string& text, const Options& base) {
  const std::string where = "options";
  std::vector<settings::Override> overrides;
  const toml::table root = settings::parse(text, where);
  for (const auto& [key, value] : root) {
    overrides.push_back(settings::take_one(key, value, where, where));
  }
  Options options = base;
  settings::override_with(overrides, options);
  return options;
}

}  // namespace sluice
