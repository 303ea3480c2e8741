// Values as Fortran's edit descriptors write and read them.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "dialect/lines/template.hpp"
#include "sluice/error.hpp"

namespace sluice::dialect::lines {

namespace {

void pad(const Edit& edit, std::string_view text, std::string& out) {
  if (text.size() > edit.width) {
    out.append(edit.width, '*');
  } else {
    out.append(edit.width - text.size(), ' ');
    out.append(text);
  }
}

void append_not_finite(const Edit& edit, double value, std::string& out) {
  if (std::isnan(value)) {
    pad(edit, "NaN", out);
    return;
  }
  const char* const text = value < 0 ? "-Infinity" : "Infinity";
  const std::size_t width = value < 0 ? 9 : 8;
  pad(edit, {text, edit.width < width ? width - 5 : width}, out);
}

/// As printf prints it by %.*f or %.*e, but with a point in every locale; without allocating except
/// for very long numbers.
std::string digits_of(std::chars_format form, const Edit& edit, double value) {
  std::array<char, 400> buffer;  // as no number needs beside the digits behind its point
  const int digits = static_cast<int>(edit.digits);
  auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, form, digits);
  if (result.ec == std::errc{}) {
    return {buffer.data(), result.ptr};
  }
  std::string text(buffer.size() + edit.digits, '\0');
  result = std::to_chars(text.data(), text.data() + text.size(), value, form, digits);
  text.resize(static_cast<std::size_t>(result.ptr - text.data()));
  return text;
}

void append_fixed(const Edit& edit, double value, std::string& out) {
  std::string text = digits_of(std::chars_format::fixed, edit, value);
  if (edit.digits == 0) {
    text += '.';
  }
  // The zero before the point is left out if there is no space.
  if (text.size() > edit.width) {
    const std::size_t sign = text[0] == '-' ? 1 : 0;
    if (text.compare(sign, 2, "0.") == 0) {
      text.erase(sign, 1);
    }
  }
  pad(edit, text, out);
}

void append_scientific(const Edit& edit, double value, std::string& out) {
  std::string text = digits_of(std::chars_format::scientific, edit, value);
  const std::size_t e = text.find('e');
  const int exponent = std::atoi(text.c_str() + e + 1);
  text.resize(e);
  if (edit.digits == 0) {
    text += '.';
  }
  std::string digits = std::to_string(std::abs(exponent));
  const std::size_t wanted = edit.exponent == 0 ? 2 : edit.exponent;
  const bool has_letter = digits.size() <= wanted;
  if (!has_letter && (edit.exponent != 0 || digits.size() > 3)) {
    out.append(edit.width, '*');
    return;
  }
  if (has_letter) {
    text += 'E';
    digits.insert(0, wanted - digits.size(), '0');
  }
  text += exponent < 0 ? '-' : '+';
  pad(edit, text + digits, out);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// With any letter of Fortran's before the exponent, or none. float32 is read as such: rounding
/// twice is wrong.
bool read_real(std::string_view text, const Type& type, double& value) {
  std::string whole(text);
  if (const std::size_t letter = whole.find_first_of("edDqQ"); letter != std::string::npos) {
    whole[letter] = 'E';
  }
  const std::size_t sign = whole.find_last_of("+-");
  if (sign != std::string::npos && sign > 0 && whole[sign - 1] != 'E') {
    whole.insert(sign, 1, 'E');
  }
  const char* begin = whole.data() + (whole[0] == '+' ? 1 : 0);
  const char* const end = whole.data() + whole.size();
  if (type.kind == Kind::f32) {
    float narrow = 0;
    const auto result = std::from_chars(begin, end, narrow);
    value = static_cast<double>(narrow);
    return result.ec == std::errc{} && result.ptr == end;
  }
  const auto result = std::from_chars(begin, end, value);
  return result.ec == std::errc{} && result.ptr == end;
}

bool read_integer(std::string_view text, const Type& type, std::int64_t& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool fits = type.kind != Kind::i32 || value == static_cast<std::int32_t>(value);
  return result.ec == std::errc{} && result.ptr == text.data() + text.size() && fits;
}

}  // namespace

void append_line(const Line& line, std::span<const Scalar> values, std::string& out) {
  std::size_t i = 0;
  for (const Edit& edit : line.edits) {
    if (edit.kind == 'x') {
      out.append(edit.width, ' ');
    } else if (edit.kind == '\'') {
      out += edit.literal;
    } else if (edit.kind == 'i') {
      std::array<char, 24> digits{};
      const auto result =
          std::to_chars(digits.data(), digits.data() + digits.size(), values[i++].integer);
      pad(edit, {digits.data(), static_cast<std::size_t>(result.ptr - digits.data())}, out);
    } else if (!std::isfinite(values[i].real)) {
      append_not_finite(edit, values[i++].real, out);
    } else if (edit.kind == 'f') {
      append_fixed(edit, values[i++].real, out);
    } else {
      append_scientific(edit, values[i++].real, out);
    }
  }
  out += '\n';
}

void parse_line(const Line& line, std::string_view text, std::vector<Scalar>& values) {
  values.clear();
  if (text.size() == line.width + 1 && text.back() == '\r') {
    text.remove_suffix(1);
  }
  if (text.size() != line.width) {
    throw Error(Code::format, "a line of " + std::to_string(text.size()) + " characters, not " +
                                  std::to_string(line.width));
  }
  for (const Edit& edit : line.edits) {
    const std::string_view column = text.substr(0, edit.width);
    text.remove_prefix(edit.width);
    if (edit.kind == 'x' || edit.kind == '\'') {
      continue;
    }
    Scalar value;
    const Type& type = line.types[values.size()];
    const std::string_view word = trimmed(column);
    const bool is_right =
        !word.empty() && (edit.kind == 'i' ? read_integer(word, type, value.integer)
                                           : read_real(word, type, value.real));
    if (!is_right) {
      throw Error(Code::format, "no " + type_name(type) + ": '" + std::string(column) + "'");
    }
    values.push_back(value);
  }
}

}  // namespace sluice::dialect::lines
