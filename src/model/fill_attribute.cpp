#include "model/fill_attribute.hpp"

#include <string>
#include <type_traits>
#include <variant>

#include "model/base64.hpp"
#include "model/fill.hpp"
#include "model/kernels.hpp"
#include "model/kinds.hpp"

namespace sluice::model {

namespace {

struct FillOf {
  Kind kind;

  template <class T>
  std::optional<Fill> operator()(const T& value) const {
    if constexpr (std::is_arithmetic_v<T>) {
      return Fill(value);
    } else {
      return std::nullopt;
    }
  }
  template <class T>
  std::optional<Fill> operator()(const std::vector<T>& values) const {
    return values.size() == 1 ? (*this)(values[0]) : std::nullopt;
  }
  std::optional<Fill> operator()(const std::string& text) const {
    const auto bytes = bytes_of_base64(text);
    if (!is_floating(kind) || !bytes || bytes->size() != sizeof(double)) {
      return std::nullopt;
    }
    return Fill(type_of<double>(), *bytes);
  }
};

}  // namespace

std::optional<std::vector<std::byte>> default_fill_of_netcdf(const Type& type) {
  constexpr float floating = 9.9692099683868690e+36F;
  const auto bytes = [&](const Fill& fill) { return fill_bytes(fill, type); };
  switch (type.kind) {
    case Kind::i8:
      return bytes(Fill(-127));
    case Kind::u8:
      return bytes(Fill(255));
    case Kind::i16:
      return bytes(Fill(-32767));
    case Kind::u16:
      return bytes(Fill(65535));
    case Kind::i32:
      return bytes(Fill(-2147483647));
    case Kind::u32:
      return bytes(Fill(std::uint32_t{4294967295}));
    case Kind::i64:
      return bytes(Fill(std::int64_t{-9223372036854775806}));
    case Kind::u64:
      return bytes(Fill(netcdf_fill_of_uint64));
    case Kind::f32:
    case Kind::f64:
      return bytes(Fill(floating));
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<std::byte>> element_said(const Attribute& attribute,
                                                   const Definition& definition) {
  const auto fill = std::visit(FillOf{definition.type.kind}, attribute.value);
  const auto element = fill ? fill_bytes(*fill, definition.type) : std::nullopt;
  return element ? std::optional(fill_element(*element)) : std::nullopt;
}

bool says_fill(const Attribute& attribute, const Definition& definition) {
  if (!definition.has_fill() || attribute.name != fill_attribute_name ||
      attribute.owner != definition.name) {
    return false;
  }
  const auto element = element_said(attribute, definition);
  const auto is_nan = [&](const std::vector<std::byte>& one) {
    return is_floating(definition.type.kind) && !one.empty() &&
           value_text(one.data(), definition.type) == "nan";
  };
  return element && (*element == definition.fill || (is_nan(*element) && is_nan(definition.fill)));
}

}  // namespace sluice::model
