#include "model/fill.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "model/kinds.hpp"
#include "sluice/error.hpp"

namespace sluice {

void Fill::check_is(const Type& wanted) const {
  if (type_ != wanted) {
    throw Error(Code::type_mismatch,
                "the fill value is of " + type_name(type_) + ", not of " + type_name(wanted));
  }
}

namespace model {
namespace {

using Element = std::vector<std::byte>;

/// Calls `use` with a value of the number type; does nothing for types that are not numbers.
template <class Use>
std::optional<Element> with_number(Kind kind, Use&& use) {
  switch (kind) {
    case Kind::f16:
      return use(Float16{});
    case Kind::i8:
      return use(std::int8_t{});
    case Kind::i16:
      return use(std::int16_t{});
    case Kind::i32:
      return use(std::int32_t{});
    case Kind::i64:
      return use(std::int64_t{});
    case Kind::u8:
    case Kind::boolean:
      return use(std::uint8_t{});
    case Kind::u16:
      return use(std::uint16_t{});
    case Kind::u32:
      return use(std::uint32_t{});
    case Kind::u64:
      return use(std::uint64_t{});
    case Kind::f32:
      return use(float{});
    case Kind::f64:
      return use(double{});
    default:
      return std::nullopt;
  }
}

/// 2^63 and 2^64 are exact in a floating-point type; the limits of the integers are not.
template <class Integer, class Float>
bool is_in_range(Float x) {
  return x >= static_cast<Float>(std::numeric_limits<Integer>::min()) &&
         x < std::ldexp(Float{1}, std::numeric_limits<Integer>::digits);
}

template <class To, class From>
bool holds(From x) {
  if constexpr (std::is_same_v<To, Float16>) {
    // Floats are rounded as to any other float; integers must be exact.
    const float rounded = widened(number_as<To>(x));
    return std::is_integral_v<From>
               ? static_cast<double>(rounded) == static_cast<double>(x)
               : !std::isfinite(static_cast<double>(x)) || std::isfinite(rounded);
  } else if constexpr (std::is_floating_point_v<To> && std::is_floating_point_v<From>) {
    return !std::isfinite(x) || std::isfinite(static_cast<To>(x));
  } else if constexpr (std::is_floating_point_v<To>) {
    const To rounded = static_cast<To>(x);
    return is_in_range<From>(rounded) && static_cast<From>(rounded) == x;
  } else if constexpr (std::is_floating_point_v<From>) {
    return is_in_range<To>(x) && std::trunc(x) == x;
  } else {
    return std::in_range<To>(x);
  }
}

/// The number at `from` as an element of the number type `to`.
std::optional<Element> converted(const std::byte* from, Kind from_kind, Kind to) {
  return with_number(from_kind, [&](auto from_example) {
    using From = decltype(from_example);
    From x;
    std::memcpy(&x, from, sizeof x);
    const auto number = widened(x);
    return with_number(to, [&](auto to_example) -> std::optional<Element> {
      using To = decltype(to_example);
      if (!holds<To>(number) || (to == Kind::boolean && number != 0 && number != 1)) {
        return std::nullopt;
      }
      const To value = number_as<To>(number);
      Element element(sizeof value);
      std::memcpy(element.data(), &value, sizeof value);
      return element;
    });
  });
}

/// The type of the two halves of a complex number; any other type unchanged.
Kind half_of(Kind kind) {
  return kind == Kind::c64 ? Kind::f32 : kind == Kind::c128 ? Kind::f64 : kind;
}

/// Text without trailing zero bytes, padded to `bytes`.
std::optional<Element> text_element(std::span<const std::byte> text, std::size_t bytes) {
  while (!text.empty() && text.back() == std::byte{0}) {
    text = text.first(text.size() - 1);
  }
  if (text.size() > bytes) {
    return std::nullopt;
  }
  Element element(text.begin(), text.end());
  element.resize(bytes);
  return element;
}

std::optional<Element> element_of(const Fill& value, const Type& type) {
  const Kind from = value.type().kind;
  if (from == Kind::string && type.kind == Kind::string) {
    return text_element(value.bytes(), type.bytes);
  }
  if (is_complex(from) && !is_complex(type.kind)) {
    return std::nullopt;
  }
  std::optional<Element> element =
      converted(value.bytes().data(), half_of(from), half_of(type.kind));
  if (!element || !is_complex(type.kind)) {
    return element;
  }
  element->resize(type.bytes);
  if (is_complex(from)) {
    const std::optional<Element> imaginary =
        converted(value.bytes().data() + value.type().bytes / 2, half_of(from), half_of(type.kind));
    if (!imaginary) {
      return std::nullopt;
    }
    std::copy(imaginary->begin(), imaginary->end(), element->begin() + type.bytes / 2);
  }
  return element;
}

}  // namespace

std::optional<Element> fill_bytes(const Fill& value, const Type& type) {
  if (value.bytes().empty()) {
    return Element{};
  }
  std::optional<Element> element = element_of(value, type);
  if (element) {
    *element = fill_element(*element);
  }
  return element;
}

Element fill_element(std::span<const std::byte> element) {
  const bool is_zero =
      std::all_of(element.begin(), element.end(), [](std::byte b) { return b == std::byte{0}; });
  return is_zero ? Element{} : Element(element.begin(), element.end());
}

void fill(std::span<std::byte> bytes, const Type& type, std::span<const std::byte> element) {
  if (bytes.empty()) {
    return;
  }
  if (element.empty()) {
    std::memset(bytes.data(), 0, bytes.size());
    return;
  }
  if (element.size() != type.bytes || bytes.size() % type.bytes != 0) {
    throw Error(Code::internal, "a fill value of " + std::to_string(element.size()) +
                                    " bytes for " + std::to_string(bytes.size()) + " bytes of " +
                                    type_name(type));
  }
  // The filled range is doubled by each copy, so that long ranges take few copies.
  std::size_t filled = element.size();
  std::memcpy(bytes.data(), element.data(), filled);
  while (filled < bytes.size()) {
    const std::size_t more = std::min(filled, bytes.size() - filled);
    std::memcpy(bytes.data() + filled, bytes.data(), more);
    filled += more;
  }
}

}  // namespace model
}  // namespace sluice
