// The fill value of an array as Zarr v3 writes it in JSON, exactly.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "model/definition.hpp"
#include "sluice/types.hpp"

namespace sluice::layout::zarr {

/// A number as JSON; "NaN", "Infinity" and "-Infinity" where it is none.
nlohmann::ordered_json float_json(double value);
/// The inverse, also of "0x7ff8000000000000". Error damaged where it is none.
double float_of(const nlohmann::ordered_json& json);

/// `element`: as Definition::fill holds it.
nlohmann::ordered_json fill_json(std::span<const std::byte> element, const Type& type);

/// The inverse, of what any program wrote: numbers, the names above, "0x7fc00000" (the bits of a
/// floating-point number), pairs of these for complex numbers, true and false. Error damaged where
/// the JSON is no value of the type.
std::vector<std::byte> fill_of(const nlohmann::ordered_json& json, const Type& type);

/// The attribute by which missing values are known.
constexpr const char* fill_name = "_FillValue";

/// The attribute _FillValue of a partial variable, as xarray looks for it. Nothing for types of
/// which it takes none.
std::optional<model::Attribute> fill_attribute(const model::Definition& definition);

/// A value that a program gave the attribute _FillValue of an array of that type, in the form in
/// which xarray looks for it: a list of one number is that number.
nlohmann::ordered_json fill_attribute_json(const model::AttributeValue& value, const Type& type);
/// The inverse, for value_of(). `kind`: of what the program gave.
nlohmann::ordered_json fill_attribute_number(const nlohmann::ordered_json& json,
                                             model::ValueKind kind);

/// The number that base64 stands for as the `_FillValue` of an array of floating-point numbers, by
/// any program; nothing where it is none.
std::optional<model::AttributeValue> coded_number(const nlohmann::ordered_json& json,
                                                  const nlohmann::ordered_json& data_type);
/// Is `json` base64 of that number?
bool says_coded(const nlohmann::ordered_json& json, const model::AttributeValue& value);

}  // namespace sluice::layout::zarr
