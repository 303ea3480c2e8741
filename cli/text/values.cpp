#include "text/values.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include "model/name.hpp"
#include "text/text.hpp"

namespace sluice::cli {

namespace {

template <class T>
void append_float(std::string& out, T value, Style style) {
  if (!std::isfinite(value)) {
    const bool quotes = style == Style::json;
    const char* name = std::isnan(value) ? (quotes ? "\"NaN\"" : "nan")
                       : value > 0       ? (quotes ? "\"Infinity\"" : "inf")
                                         : (quotes ? "\"-Infinity\"" : "-inf");
    out += name;
    return;
  }
  std::array<char, 40> buffer;
  const char* end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  const std::string_view digits(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) {
    out += ".0";  // recognisably not an integer
  }
}

/// With as many digits as distinguish it from its neighbours.
void append_half(std::string& out, Float16 value, Style style) {
  const auto exact = static_cast<float>(value);
  float shortest = exact;
  constexpr int most_digits = 5;
  const bool is_whole = !std::isfinite(exact) || std::trunc(exact) == exact;
  for (int digits = 1; !is_whole && digits <= most_digits; ++digits) {
    std::array<char, 40> buffer{};
    const char* end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), exact,
                                    std::chars_format::scientific, digits - 1)
                          .ptr;
    std::from_chars(buffer.data(), end, shortest);
    if (Float16(static_cast<double>(shortest)).bits == value.bits) {
      break;
    }
  }
  append_float(out, shortest, style);
}

template <class T>
void append_complex(std::string& out, const std::byte* at, Style style) {
  const T real = model::load<T>(at);
  const T imaginary = model::load<T>(at + sizeof(T));
  if (style == Style::json) {
    out += '[';
    append_float(out, real, style);
    out += ", ";
    append_float(out, imaginary, style);
    out += ']';
    return;
  }
  append_float(out, real, style);
  if (std::isnan(imaginary) || !std::signbit(imaginary)) {
    out += '+';
  }
  append_float(out, imaginary, style);
  out += 'j';
}

std::string json_text(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_string(std::string& out, const std::byte* at, std::size_t bytes, Style style) {
  std::string_view text(reinterpret_cast<const char*>(at), bytes);
  const std::size_t last = text.find_last_not_of('\0');
  text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  // JSON's escapes are readable too; what is not text at all is shown byte by byte.
  const bool is_plain = style == Style::json || printable(text) == text;
  out += style == Style::csv ? csv_text(text)
         : is_plain          ? json_text(text)
                             : model::quoted(text, std::numeric_limits<std::size_t>::max());
}

}  // namespace

std::string csv_text(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string out = "\"";
  for (const char c : text) {
    out += c == '"' ? "\"\"" : std::string(1, c);
  }
  return out + "\"";
}

void append_value(std::string& out, const std::byte* element, const Type& type, Style style) {
  switch (type.kind) {
    case Kind::i8:
      out += std::to_string(model::load<std::int8_t>(element));
      return;
    case Kind::i16:
      out += std::to_string(model::load<std::int16_t>(element));
      return;
    case Kind::i32:
      out += std::to_string(model::load<std::int32_t>(element));
      return;
    case Kind::i64:
      out += std::to_string(model::load<std::int64_t>(element));
      return;
    case Kind::u8:
      out += std::to_string(model::load<std::uint8_t>(element));
      return;
    case Kind::u16:
      out += std::to_string(model::load<std::uint16_t>(element));
      return;
    case Kind::u32:
      out += std::to_string(model::load<std::uint32_t>(element));
      return;
    case Kind::u64:
      out += std::to_string(model::load<std::uint64_t>(element));
      return;
    case Kind::f16:
      return append_half(out, model::load<Float16>(element), style);
    case Kind::f32:
      return append_float(out, model::load<float>(element), style);
    case Kind::f64:
      return append_float(out, model::load<double>(element), style);
    case Kind::c64:
      return append_complex<float>(out, element, style);
    case Kind::c128:
      return append_complex<double>(out, element, style);
    case Kind::boolean:
      out += *element == std::byte{0} ? "false" : "true";
      return;
    case Kind::string:
      return append_string(out, element, type.bytes, style);
  }
}

namespace {

template <class T>
std::string one_text(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return printable(value);
  } else {
    std::string out;
    append_value(out, reinterpret_cast<const std::byte*>(&value), type_of<T>(), Style::text);
    return out;
  }
}

template <class T>
nlohmann::ordered_json one_json(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) {
      return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
    }
  }
  if constexpr (std::is_same_v<T, float>) {  // 0.1F as 0.1, not as 0.10000000149011612
    const std::string digits = one_text(value);
    double shortest = value;
    std::from_chars(digits.data(), digits.data() + digits.size(), shortest);
    return shortest;
  }
  return value;
}

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

}  // namespace

nlohmann::ordered_json time_json(double time) {
  return std::isnan(time) ? nlohmann::ordered_json() : one_json(time);
}

std::string attribute_text(const model::AttributeValue& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (is_list<std::decay_t<decltype(v)>>) {
          std::string out = "[";
          for (const auto& item : v) {
            out += (out.size() > 1 ? ", " : "") + one_text(item);
          }
          return out + "]";
        } else {
          return one_text(v);
        }
      },
      value);
}

nlohmann::ordered_json attribute_json(const model::AttributeValue& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (is_list<std::decay_t<decltype(v)>>) {
          auto list = nlohmann::ordered_json::array();
          for (const auto& item : v) {
            list.push_back(one_json(item));
          }
          return list;
        } else {
          return one_json(v);
        }
      },
      value);
}

namespace {

template <class T>
bool same_bits(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  } else {
    return a == b;
  }
}

template <class T>
std::span<const T> elements(const T& one) {
  return {&one, 1};
}
template <class T>
std::span<const T> elements(const std::vector<T>& list) {
  return list;
}

}  // namespace

bool same_value(const model::AttributeValue& a, const model::AttributeValue& b) {
  return std::visit(
      [](const auto& x, const auto& y) {
        const auto left = elements(x);
        const auto right = elements(y);
        if constexpr (std::is_same_v<decltype(left), decltype(right)>) {
          return std::equal(
              left.begin(), left.end(), right.begin(), right.end(),
              [](const auto& one, const auto& other) { return same_bits(one, other); });
        } else {
          return false;
        }
      },
      a, b);
}

}  // namespace sluice::cli
