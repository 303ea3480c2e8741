#include "commit/tools/fills.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "layout/zarr/fill_value.hpp"
#include "model/fill.hpp"

namespace sluice::commit {

namespace {

constexpr const char* attribute_name = "_FillValue";

/// NC_FILL_BYTE and the others of netcdf.h; null: of a type that netCDF has not.
std::optional<Fill> default_of_netcdf(Kind kind) {
  constexpr float floating = 9.9692099683868690e+36F;
  switch (kind) {
    case Kind::i8:
      return Fill(-127);
    case Kind::u8:
      return Fill(255);
    case Kind::i16:
      return Fill(-32767);
    case Kind::u16:
      return Fill(65535);
    case Kind::i32:
      return Fill(-2147483647);
    case Kind::u32:
      return Fill(std::uint32_t{4294967295});
    case Kind::i64:
      return Fill(std::int64_t{-9223372036854775806});
    case Kind::u64:
      return Fill(std::uint64_t{18446744073709551614U});
    case Kind::f32:
    case Kind::f64:
      return Fill(floating);
    default:
      return std::nullopt;
  }
}

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

void forget_default_fill(model::Definition& definition,
                         std::span<const model::Attribute> attributes) {
  const std::optional<Fill> fill = default_of_netcdf(definition.type.kind);
  const bool is_asked_for = std::any_of(attributes.begin(), attributes.end(), [&](const auto& one) {
    return one.owner == definition.name && one.name == attribute_name;
  });
  if (!definition.partial || !fill || is_asked_for) {
    return;
  }
  const auto element = model::fill_bytes(*fill, definition.type);
  if (element && model::fill_element(*element) == definition.fill) {
    definition.partial = false;
    definition.fill.clear();
  }
}

std::optional<model::Attribute> fill_attribute(const layout::Format& format,
                                               const model::Definition& definition) {
  const bool is_number = definition.type.kind >= Kind::i8 && definition.type.kind <= Kind::f64;
  if (std::string(format.name) != "zarr" || !definition.partial || !is_number) {
    return std::nullopt;
  }
  const auto json = layout::zarr::fill_json(definition.fill, definition.type);
  model::AttributeValue value;
  if (definition.type.kind == Kind::f32 || definition.type.kind == Kind::f64) {
    value = base64(layout::zarr::float_of(json));
  } else if (json.get<double>() > static_cast<double>(INT64_MAX)) {
    return std::nullopt;  // attributes hold no such number
  } else {
    value = json.get<std::int64_t>();
  }
  return model::Attribute{definition.name, attribute_name, std::move(value)};
}

}  // namespace sluice::commit
