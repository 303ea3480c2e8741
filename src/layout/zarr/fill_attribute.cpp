// The attribute by which xarray knows missing values in version 3: an integer as it is, a
// floating-point number as base64 of its eight bytes (xarray.backends.zarr.FillValueCoder).
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "layout/zarr/fill_value.hpp"
#include "layout/zarr/format.hpp"

namespace sluice::layout::zarr {

namespace {

/// RFC 4648, of eight bytes.
std::string base64(double value) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  auto bits = std::bit_cast<std::uint64_t>(value);
  std::array<std::uint32_t, 9> bytes{};  // lowest first, and a zero
  for (std::size_t i = 0; i < 8; ++i, bits >>= 8) {
    bytes[i] = static_cast<std::uint32_t>(bits & 0xff);
  }
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t three = bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2];
    for (const int shift : {18, 12, 6, 0}) {
      text += digits[three >> shift & 63];
    }
  }
  text.back() = '=';  // for the zero
  return text;
}

}  // namespace

std::optional<model::Attribute> fill_attribute(const model::Definition& definition) {
  const bool is_number = definition.type.kind >= Kind::i8 && definition.type.kind <= Kind::f64;
  if (!definition.partial || !is_number) {
    return std::nullopt;
  }
  const auto json = fill_json(definition.fill, definition.type);
  model::AttributeValue value;
  if (definition.type.kind == Kind::f32 || definition.type.kind == Kind::f64) {
    value = base64(float_of(json));
  } else if (json.get<double>() > static_cast<double>(INT64_MAX)) {
    return std::nullopt;  // attributes hold no such number
  } else {
    value = json.get<std::int64_t>();
  }
  return model::Attribute{definition.name, "_FillValue", std::move(value)};
}

}  // namespace sluice::layout::zarr
