#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>

#include "model/kernels.hpp"
#include "model/name.hpp"

namespace sluice::model {
namespace {

/// The shortest digits that identify the value, always recognisable as not an integer.
template <class T>
std::string float_text(T value) {
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string text(buffer.data(), end);
  if (std::isfinite(value) && text.find('.') == std::string::npos) {
    text.insert(std::min(text.find('e'), text.size()), ".0");
  }
  return text;
}

template <class T>
std::string number_text(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  if constexpr (std::is_floating_point_v<T>) {
    return float_text(value);
  } else {
    return std::to_string(value);
  }
}

std::string half_text(const std::byte* at) {
  Float16 value;
  std::memcpy(&value, at, sizeof value);
  return float_text(static_cast<float>(value));
}

template <class T>
std::string complex_text(const std::byte* at) {
  std::string text = "(";
  text += number_text<T>(at);
  text += ", ";
  text += number_text<T>(at + sizeof(T));
  text += ")";
  return text;
}

std::string string_text(const std::byte* at, std::size_t bytes) {
  std::string_view text(reinterpret_cast<const char*>(at), bytes);
  const std::size_t last = text.find_last_not_of('\0');
  return quoted(text.substr(0, last == std::string_view::npos ? 0 : last + 1), 32);
}

}  // namespace

std::string value_text(const std::byte* element, const Type& type) {
  switch (type.kind) {
    case Kind::i8:
      return number_text<std::int8_t>(element);
    case Kind::i16:
      return number_text<std::int16_t>(element);
    case Kind::i32:
      return number_text<std::int32_t>(element);
    case Kind::i64:
      return number_text<std::int64_t>(element);
    case Kind::u8:
      return number_text<std::uint8_t>(element);
    case Kind::u16:
      return number_text<std::uint16_t>(element);
    case Kind::u32:
      return number_text<std::uint32_t>(element);
    case Kind::u64:
      return number_text<std::uint64_t>(element);
    case Kind::f16:
      return half_text(element);
    case Kind::f32:
      return number_text<float>(element);
    case Kind::f64:
      return number_text<double>(element);
    case Kind::c64:
      return complex_text<float>(element);
    case Kind::c128:
      return complex_text<double>(element);
    case Kind::boolean:
      return *element == std::byte{0} ? "false" : "true";
    case Kind::string:
      return string_text(element, type.bytes);
  }
  return "of an unknown kind";
}

}  // namespace sluice::model
