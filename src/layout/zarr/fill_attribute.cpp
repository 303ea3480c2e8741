// The attribute by which xarray knows missing values in version 3: an integer as it is, a
// floating-point number as base64 of its eight bytes, a complex one as a list of two of these
// (xarray.backends.zarr.FillValueCoder). What is in another form makes xarray refuse the store.
#include <cmath>
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
#include "model/kinds.hpp"

namespace sluice::layout::zarr {

using model::ValueKind;

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

std::string coded(double value) { return model::base64(std::as_bytes(std::span(&value, 1))); }

/// Of the type of the variable; of float16 as float.
model::AttributeValue as_number(double value, bool is_double) {
  const auto narrow = static_cast<float>(value);
  const bool is_exact = std::isnan(value) || static_cast<double>(narrow) == value;
  return is_double || !is_exact ? model::AttributeValue(value) : model::AttributeValue(narrow);
}

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
  if (model::is_floating(type.kind)) {
    return coded(wide);
  }
  if (model::is_complex(type.kind)) {
    return Json::array({coded(wide), coded(0)});
  }
  return json_of(*number);
}

Json fill_attribute_number(const Json& json, ValueKind kind) {
  const bool is_whole = kind == ValueKind::int32 || kind == ValueKind::int64 ||
                        kind == ValueKind::int32_list || kind == ValueKind::int64_list ||
                        kind >= ValueKind::int8;
  const bool is_list = (kind >= ValueKind::int32_list && kind <= ValueKind::float64_list) ||
                       kind >= ValueKind::int8_list;
  const bool is_text =
      kind == ValueKind::boolean || kind == ValueKind::text || kind == ValueKind::text_list;
  const bool is_complex = json.is_array() && json.size() == 2 && json[0].is_string();
  Json number = is_complex ? json[0] : json;
  if (const auto bytes = number.is_string() && !is_text
                             ? model::bytes_of_base64(number.get<std::string>())
                             : std::nullopt) {
    double wide = 0;
    if (bytes->size() != sizeof wide) {
      return json;
    }
    std::memcpy(&wide, bytes->data(), sizeof wide);
    number =
        is_whole && std::abs(wide) < 0x1p63 ? Json(static_cast<std::int64_t>(wide)) : Json(wide);
  }
  if (!number.is_number()) {
    return json;
  }
  return is_list ? Json::array({number}) : number;
}

std::optional<model::AttributeValue> coded_number(const Json& json, const Json& data_type) {
  const auto bytes = json.is_string() && (data_type == "float16" || data_type == "float32" ||
                                          data_type == "float64")
                         ? model::bytes_of_base64(json.get<std::string>())
                         : std::nullopt;
  double value = 0;
  if (!bytes || bytes->size() != sizeof value) {
    return std::nullopt;
  }
  std::memcpy(&value, bytes->data(), sizeof value);
  return as_number(value, data_type == "float64");
}

bool says_coded(const Json& json, const model::AttributeValue& value) {
  return json.is_string() && json == fill_attribute_json(value, type_of<double>());
}

std::optional<model::Attribute> fill_attribute(const model::Definition& definition) {
  const Kind kind = definition.type.kind;
  if (!definition.has_fill() || !model::is_real(kind)) {
    return std::nullopt;
  }
  if (model::is_floating(kind)) {
    return model::Attribute{definition.name, fill_name,
                            as_number(floating_fill(definition), kind == Kind::f64)};
  }
  const auto value = fill_json(definition.fill, definition.type);
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > most) {
    return std::nullopt;  // attributes hold no such number
  }
  return model::Attribute{definition.name, fill_name, value.get<std::int64_t>()};
}

}  // namespace sluice::layout::zarr
