// Values as Fortran's edit descriptors write and read them.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "dialect/lines/template.hpp"
#include "model/number_text.hpp"
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
  const std::string_view digits = std::string_view(whole).substr(whole[0] == '+' ? 1 : 0);
  const std::optional<double> number = type.kind == Kind::f32
                                           ? std::optional<double>(model::number_in<float>(digits))
                                           : model::number_in<double>(digits);
  value = number.value_or(0);
  return number.has_value();
}

bool read_integer(std::string_view text, const Type& type, std::int64_t& value) {
  const std::optional<std::int64_t> number = model::number_in<std::int64_t>(text);
  value = number.value_or(0);
  return number && (type.kind != Kind::i32 || value == static_cast<std::int32_t>(value));
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
    const std::string_view word = model::trimmed(column, " ");
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
