#include "commit/tools/fills.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "layout/formats/formats.hpp"
#include "model/base64.hpp"
#include "model/fill.hpp"
#include "model/kinds.hpp"

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

/// A number, also one that is alone in a list, or, of a floating-point variable in Zarr, base64 of
/// one in double precision (xarray.backends.zarr.FillValueCoder).
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
    const auto bytes = model::bytes_of_base64(text);
    if (!model::is_floating(kind) || !bytes || bytes->size() != sizeof(double)) {
      return std::nullopt;
    }
    return Fill(type_of<double>(), *bytes);
  }
};

/// The element that an attribute of the variable says; empty optional: there is none, or its type
/// cannot hold it.
std::optional<std::vector<std::byte>> element_of(const Input& input, const char* name,
                                                 const model::Definition& definition) {
  for (const model::Attribute& attribute : input.attributes()) {
    if (attribute.name == name && attribute.owner == definition.name) {
      const auto fill = std::visit(FillOf{definition.type.kind}, attribute.value);
      return fill ? model::fill_bytes(*fill, definition.type) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

bool is_fill(const model::Attribute& attribute, const model::Definition& definition) {
  return definition.partial && attribute.name == attribute_name &&
         attribute.owner == definition.name;
}

std::vector<std::vector<std::byte>> missing_elements(const Input& input,
                                                     const model::Definition& definition) {
  std::vector<std::vector<std::byte>> elements;
  for (const char* name : {attribute_name, "missing_value"}) {
    if (const auto element = element_of(input, name, definition)) {
      elements.push_back(*element);
    }
  }
  model::Definition partial = definition;
  if (partial.type.bytes == 1) {
    forget_default_fill(input, partial);
  }
  if (partial.partial && !partial.fill.empty()) {
    elements.push_back(partial.fill);
  }
  for (std::vector<std::byte>& element : elements) {
    element.resize(definition.type.bytes);  // no bytes stand for zeros
  }
  return elements;
}

void forget_default_fill(const Input& input, model::Definition& definition) {
  const std::vector<model::Attribute>& all = input.attributes();
  const bool is_asked_for = std::any_of(all.begin(), all.end(), [&](const auto& attribute) {
    return is_fill(attribute, definition);
  });
  const std::optional<Fill> fill = default_of_netcdf(definition.type.kind);
  if (!definition.partial || !fill || is_asked_for || input.written_by_sluice()) {
    return;
  }
  const auto element = model::fill_bytes(*fill, definition.type);
  if (element && model::fill_element(*element) == definition.fill) {
    definition.partial = false;
    definition.fill.clear();
  }
}

void take_fill(const Input& input, const layout::Format& format, model::Definition& definition) {
  if (definition.partial) {
    return;
  }
  const auto element = element_of(input, attribute_name, definition);
  model::Definition alone = definition;
  alone.dimensions.clear();
  alone.partial = true;
  if (element && layout::accepts(format, alone)) {
    definition.partial = true;
    definition.fill = *element;
  }
}

}  // namespace sluice::commit
