// The attribute by which xarray knows missing values in version 3: an integer as it is, a
// floating-point number as base64 of its eight bytes, a complex one as a list of two of these
// (xarray.backends.zarr.FillValueCoder). What is in another form makes xarray refuse the store.
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include "layout/zarr/fill_value.hpp"
#include "layout/zarr/metadata.hpp"
#include "model/base64.hpp"
#include "model/fill.hpp"

namespace sluice::layout::zarr {

namespace {

double floating_fill(const model::Definition& definition) {
  std::vector<std::byte> element(definition.type.bytes);
  model::fill(element, definition.type, definition.fill);
  double wide = 0;
  float narrow = 0;
  Float16 half;
  if (definition.type.kind == Kind::f64) {
    std::memcpy(&wide, element.data(), sizeof wide);
    return wide;
  }
  if (definition.type.kind == Kind::f16) {
    std::memcpy(&half, element.data(), sizeof half);
    return static_cast<double>(half);
  }
  std::memcpy(&narrow, element.data(), sizeof narrow);
  return narrow;
}

bool is_floating(Kind kind) { return kind == Kind::f16 || kind == Kind::f32 || kind == Kind::f64; }

std::string coded(double value) { return model::base64(std::as_bytes(std::span(&value, 1))); }

/// The number that is the value, or that is alone in it; nothing for anything else.
struct NumberIn {
  template <class T>
  std::optional<model::AttributeValue> operator()(const T& value) const {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      return value;
    } else {
      return std::nullopt;
    }
  }
  template <class T>
  std::optional<model::AttributeValue> operator()(const std::vector<T>& values) const {
    return values.size() == 1 ? (*this)(values[0]) : std::nullopt;
  }
};

}  // namespace

nlohmann::ordered_json fill_attribute_json(const model::AttributeValue& value, const Type& type) {
  const auto number = std::visit(NumberIn{}, value);
  if (!number) {
    return json_of(value);
  }
  const double wide = std::visit(
      [](const auto& held) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(held)>>) {
          return static_cast<double>(held);
        } else {
          return 0.0;  // NumberIn gives none of these
        }
      },
      *number);
  if (is_floating(type.kind)) {
    return coded(wide);
  }
  if (type.kind == Kind::c64 || type.kind == Kind::c128) {
    return Json::array({coded(wide), coded(0)});
  }
  return json_of(*number);
}

namespace {

/// The number in what fill_attribute_json() made of one; nothing in anything else.
struct CodedNumber {
  template <class T>
  std::optional<double> operator()(const T& value) const {
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<double>(value);
    } else {
      return std::nullopt;
    }
  }
  std::optional<double> operator()(const std::string& text) const {
    const auto bytes = model::bytes_of_base64(text);
    double number = 0;
    if (!bytes || bytes->size() != sizeof number) {
      return std::nullopt;
    }
    std::memcpy(&number, bytes->data(), sizeof number);
    return number;
  }
  std::optional<double> operator()(const std::vector<std::string>& parts) const {
    return parts.size() == 2 ? (*this)(parts[0]) : std::nullopt;  // a complex one
  }
};

}  // namespace

model::AttributeValue fill_attribute_value(model::AttributeValue value, std::size_t kind) {
  const auto number = value.index() == kind ? std::nullopt : std::visit(CodedNumber{}, value);
  if (!number) {
    return value;
  }
  switch (kind) {  // by the index in AttributeValue
    case 1:
      return static_cast<std::int32_t>(*number);
    case 2:
      return static_cast<std::int64_t>(*number);
    case 3:
      return static_cast<float>(*number);
    case 4:
      return *number;
    case 6:
      return std::vector<std::int32_t>{static_cast<std::int32_t>(*number)};
    case 7:
      return std::vector<std::int64_t>{static_cast<std::int64_t>(*number)};
    case 8:
      return std::vector<float>{static_cast<float>(*number)};
    case 9:
      return std::vector<double>{*number};
    default:
      return value;
  }
}

std::optional<model::Attribute> fill_attribute(const model::Definition& definition) {
  const Kind kind = definition.type.kind;
  const bool is_integer = kind >= Kind::i8 && kind <= Kind::u64;
  if (!definition.partial || (!is_integer && !is_floating(kind))) {
    return std::nullopt;
  }
  if (is_floating(kind)) {
    return model::Attribute{definition.name, fill_name, coded(floating_fill(definition))};
  }
  const auto value = fill_json(definition.fill, definition.type);
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > most) {
    return std::nullopt;  // attributes hold no such number
  }
  return model::Attribute{definition.name, fill_name, value.get<std::int64_t>()};
}

}  // namespace sluice::layout::zarr
