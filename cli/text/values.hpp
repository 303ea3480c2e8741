// Elements and attributes as text: the digits identify the value.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "model/definition.hpp"

namespace sluice::cli {

enum class Style {
  text,  ///< 0.1  nan  1.5+2.0j  true  "Fe"
  csv,   ///< the same, strings by the rules of CSV
  json,  ///< 0.1  "NaN"  [1.5, 2.0]  true  "Fe"  (JSON has no NaN and no infinity)
};

/// Appends one element (dense little-endian bytes).
void append_value(std::string& out, const std::byte* element, const Type& type, Style style);

/// Quoted by the rules of CSV where it must be.
std::string csv_text(std::string_view text);

/// The time of a step: null for none (NaN), else a number or "Infinity".
nlohmann::ordered_json time_json(double time);

/// An attribute on one line.
std::string attribute_text(const model::AttributeValue& value);
nlohmann::ordered_json attribute_json(const model::AttributeValue& value);
/// Equal kind and equal bits. One element equals a list of it: netCDF does not tell them apart.
bool same_value(const model::AttributeValue& a, const model::AttributeValue& b);

}  // namespace sluice::cli
