// The only file that parses settings in TOML.
#include "model/toml_entries.hpp"

#define TOML_ENABLE_FORMATTERS 0
// A malformed file is an error of the parser; some of its assertions end the program first.
#define TOML_ASSERT(expression) static_cast<void>(0)
#include <array>
#include <charconv>
#include <toml++/toml.h>

#include "model/name.hpp"
#include "model/number_text.hpp"
#include "sluice/error.hpp"

namespace sluice::model {

namespace {

using IsOption = std::function<bool(std::string_view)>;

std::string place(const std::string& file, const toml::node& node) {
  return file + ", line " + std::to_string(node.source().begin.line);
}

/// A value in the form in which options are read: lists with commas, tables (of hints) as
/// key=value.
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
  if (const auto* members = node.as_table()) {
    for (const auto& [key, value] : *members) {
      joined += (joined.empty() ? "" : ",") + std::string(key.str()) + "=" + text_of(value, where);
    }
    return joined;
  }
  throw Error(Code::invalid_argument, where + ": dates and times cannot be values of an option");
}

/// Line `number` of `text`, counted from 1.
std::string line_of(const std::string& text, std::size_t number) {
  std::size_t at = 0;
  for (; number > 1 && at != std::string::npos; --number) {
    at = text.find('\n', at);
    at += at == std::string::npos ? 0 : 1;
  }
  return at == std::string::npos
             ? ""
             : std::string(trimmed(std::string_view(text).substr(at, text.find('\n', at) - at)));
}

/// What is wrong with a line, in addition to the parser's message: most often text without quotes.
std::string fault_of_line(const std::string& line, std::string_view description,
                          const IsOption& is_option) {
  const std::size_t equals = line.find('=');
  const std::string value(
      equals == std::string::npos ? "" : trimmed(std::string_view(line).substr(equals + 1)));
  const std::string key(trimmed(std::string_view(line).substr(0, equals)));
  constexpr const char* word = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-";
  const bool lacks_quotes = is_option(key) && value.find_first_of(word) == 0 &&
                            value.find('"') == std::string::npos &&
                            description.find("value type") != std::string_view::npos;
  if (lacks_quotes) {
    return key + ": " + quoted(value) +
           " is neither a number, true, false nor text in quotes: write " + key + " = " +
           quoted(value);
  }
  return std::string(description) + (line.empty() ? "" : ", in " + quoted(line));
}

toml::table parse(const std::string& text, const std::string& file, const IsOption& is_option) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& e) {
    const std::size_t line = e.source().begin.line;
    throw Error(Code::format, file + ", line " + std::to_string(line) + ": " +
                                  fault_of_line(line_of(text, line), e.description(), is_option));
  }
}

}  // namespace

bool is_table_of(std::string_view table, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::size_t dot = name.rfind('.');
  return table == name || table == path ||
         (dot != std::string::npos && table == name.substr(0, dot));
}

std::vector<TomlEntry> toml_entries(const std::string& text, const std::string& file,
                                    const IsOption& is_option) {
  std::vector<TomlEntry> entries;
  const auto add = [&](const std::string& table, const toml::key& key, const toml::node& value) {
    const std::string where = place(file, value);
    entries.push_back({table, std::string(key.str()), text_of(value, where), where});
  };
  for (const auto& [key, value] : parse(text, file, is_option)) {
    const toml::table* table = value.as_table();
    if (table == nullptr || is_option(key.str())) {
      add("", key, value);
      continue;
    }
    for (const auto& [inner, inner_value] : *table) {
      add(std::string(key.str()), inner, inner_value);
    }
  }
  return entries;
}

}  // namespace sluice::model
