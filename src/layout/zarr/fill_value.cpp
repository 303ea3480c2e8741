// Source of the grammar: https://zarr-specs.readthedocs.io/en/latest/v3/data-types/index.html
#include "layout/zarr/fill_value.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "model/fill.hpp"
#include "sluice/error.hpp"

namespace sluice::layout::zarr {

using Json = nlohmann::ordered_json;

namespace {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

template <class T>
T value_at(const std::byte* at) {
  T value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// A NaN other than the one that "NaN" stands for is written by its bits.
template <class T>
Json float_at(const std::byte* at) {
  const T value = value_at<T>(at);
  const auto number = static_cast<double>(value);
  const auto bits = std::bit_cast<BitsOf<T>>(value);
  constexpr auto plain_nan = static_cast<BitsOf<T>>(sizeof(T) == 2   ? 0x7e00
                                                    : sizeof(T) == 4 ? 0x7fc00000
                                                                     : 0x7ff8000000000000);
  if (!std::isnan(number) || bits == plain_nan) {
    return float_json(number);
  }
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%0*llx", static_cast<int>(2 * sizeof(T)),
                static_cast<unsigned long long>(bits));
  return text.data();
}

[[noreturn]] void refuse(const Json& json, const Type& type) {
  throw Error(Code::damaged, "value " + json.dump(-1, ' ', true, Json::error_handler_t::replace) +
                                 " is no " + type_name(type));
}

template <class T>
T bits_in(const Json& json, const std::string& text, const Type& type) {
  BitsOf<T> bits = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data() + 2, end, bits, 16);
  if (text.size() != 2 + 2 * sizeof(T) || error != std::errc{} || parsed != end) {
    refuse(json, type);
  }
  return std::bit_cast<T>(bits);
}

template <class T>
T float_in(const Json& json, const Type& type) {
  if (json.is_number()) {
    return static_cast<T>(json.get<double>());
  }
  const std::string text = json.is_string() ? json.get<std::string>() : "";
  if (text == "NaN") {
    return std::numeric_limits<T>::quiet_NaN();
  }
  if (text == "Infinity" || text == "-Infinity") {
    const T infinity = std::numeric_limits<T>::infinity();
    return text[0] == '-' ? -infinity : infinity;
  }
  if (text.rfind("0x", 0) != 0) {
    refuse(json, type);
  }
  return bits_in<T>(json, text, type);
}

template <class T>
std::vector<std::byte> complex_of(const Json& json, const Type& type) {
  if (!json.is_array() || json.size() != 2) {
    refuse(json, type);
  }
  const std::array<T, 2> halves{float_in<T>(json[0], type), float_in<T>(json[1], type)};
  return model::fill_element(std::as_bytes(std::span(halves)));
}

/// Integers and truth values. JSON keeps integers of 64 bits apart by their sign.
Fill plain_fill(const Json& json, const Type& type) {
  if (type.kind == Kind::boolean ? json.is_boolean() : json.is_number()) {
    if (json.is_boolean()) {
      return json.get<bool>();
    }
    if (json.is_number_unsigned()) {
      return json.get<std::uint64_t>();
    }
    if (json.is_number_integer()) {
      return json.get<std::int64_t>();
    }
    return json.get<double>();
  }
  refuse(json, type);
}

}  // namespace

Json float_json(double value) {
  if (std::isnan(value)) {
    return "NaN";
  }
  if (std::isinf(value)) {
    return value > 0 ? "Infinity" : "-Infinity";
  }
  return value;
}

double float_of(const Json& json) { return float_in<double>(json, {Kind::f64, 8}); }

Json fill_json(std::span<const std::byte> element, const Type& type) {
  std::vector<std::byte> zeros;
  if (element.empty()) {
    zeros.resize(type.bytes);
    element = zeros;
  }
  const std::byte* const at = element.data();
  switch (type.kind) {
    case Kind::i8:
      return value_at<std::int8_t>(at);
    case Kind::i16:
      return value_at<std::int16_t>(at);
    case Kind::i32:
      return value_at<std::int32_t>(at);
    case Kind::i64:
      return value_at<std::int64_t>(at);
    case Kind::u8:
      return value_at<std::uint8_t>(at);
    case Kind::u16:
      return value_at<std::uint16_t>(at);
    case Kind::u32:
      return value_at<std::uint32_t>(at);
    case Kind::u64:
      return value_at<std::uint64_t>(at);
    case Kind::f16:
      return float_at<Float16>(at);
    case Kind::f32:
      return float_at<float>(at);
    case Kind::f64:
      return float_at<double>(at);
    case Kind::c64:
      return Json::array({float_at<float>(at), float_at<float>(at + sizeof(float))});
    case Kind::c128:
      return Json::array({float_at<double>(at), float_at<double>(at + sizeof(double))});
    case Kind::boolean:
      return *at != std::byte{0};
    case Kind::string:
      break;
  }
  throw Error(Code::internal, "a fill value of type " + type_name(type) + " in a Zarr store");
}

std::vector<std::byte> fill_of(const Json& json, const Type& type) {
  switch (type.kind) {
    case Kind::f16: {
      const std::string text = json.is_string() ? json.get<std::string>() : "";
      const Float16 value = text.rfind("0x", 0) == 0 ? bits_in<Float16>(json, text, type)
                                                     : Float16(float_in<double>(json, type));
      return model::fill_element(std::as_bytes(std::span(&value, 1)));
    }
    case Kind::f32: {
      const float value = float_in<float>(json, type);
      return model::fill_element(std::as_bytes(std::span(&value, 1)));
    }
    case Kind::f64: {
      const double value = float_in<double>(json, type);
      return model::fill_element(std::as_bytes(std::span(&value, 1)));
    }
    case Kind::c64:
      return complex_of<float>(json, type);
    case Kind::c128:
      return complex_of<double>(json, type);
    default:
      auto element = model::fill_bytes(plain_fill(json, type), type);
      if (!element) {
        refuse(json, type);
      }
      return *std::move(element);
  }
}

}  // namespace sluice::layout::zarr
