// Numbers and booleans in texts, the blanks around them, the case of their letters, and lines.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace sluice::model {

/// All of `text` as a number; empty if it is none, or one that does not fit.
template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional<T>(value) : std::nullopt;
}

/// true, on, yes, 1, or their opposites; empty: another word.
inline std::optional<bool> boolean_in(std::string_view text) {
  if (text == "true" || text == "on" || text == "yes" || text == "1") {
    return true;
  }
  if (text == "false" || text == "off" || text == "no" || text == "0") {
    return false;
  }
  return std::nullopt;
}

/// Only of ASCII, in every locale: in a Turkish one tolower() makes no i of an I.
inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return lower;
}

/// Without the `blanks` at both ends.
inline std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r") {
  const std::size_t first = text.find_first_not_of(blanks);
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Has it no control characters but tabs? Others end a line, or have no place in one.
inline bool is_one_line(std::string_view text) {
  for (const char c : text) {
    if ((c >= 0 && c < ' ' && c != '\t') || c == 127) {
      return false;
    }
  }
  return true;
}

}  // namespace sluice::model
