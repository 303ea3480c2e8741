// The attribute by which xarray knows missing values in version 3: an integer as it is, a
// floating-point number as base64 of its eight bytes (xarray.backends.zarr.FillValueCoder).
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "layout/zarr/fill_value.hpp"
#include "model/base64.hpp"
#include "model/fill.hpp"

namespace sluice::layout::zarr {

namespace {

double floating_fill(const model::Definition& definition) {
  std::vector<std::byte> element(definition.type.bytes);
  model::fill(element, definition.type, definition.fill);
  double wide = 0;
  float narrow = 0;
  if (definition.type.kind == Kind::f64) {
    std::memcpy(&wide, element.data(), sizeof wide);
    return wide;
  }
  std::memcpy(&narrow, element.data(), sizeof narrow);
  return narrow;
}

}  // namespace

std::optional<model::Attribute> fill_attribute(const model::Definition& definition) {
  const Kind kind = definition.type.kind;
  if (!definition.partial || kind < Kind::i8 || kind > Kind::f64) {
    return std::nullopt;
  }
  if (kind == Kind::f32 || kind == Kind::f64) {
    const double value = floating_fill(definition);
    return model::Attribute{definition.name, "_FillValue",
                            model::base64(std::as_bytes(std::span(&value, 1)))};
  }
  const auto value = fill_json(definition.fill, definition.type);
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > most) {
    return std::nullopt;  // attributes hold no such number
  }
  return model::Attribute{definition.name, "_FillValue", value.get<std::int64_t>()};
}

}  // namespace sluice::layout::zarr
