#include "layout/rounding.hpp"

#include <algorithm>

#include "codec/plugins.hpp"
#include "layout/encoding.hpp"
#include "sluice/error.hpp"

namespace sluice::layout {

namespace {

bool can_round(const Type& type) { return type.kind == Kind::f32 || type.kind == Kind::f64; }

}  // namespace

std::optional<codec::Rounding> rounding_of(const model::Definition& definition) {
  if (definition.compress.empty()) {
    return std::nullopt;
  }
  const auto rounding = codec::parse_compression(definition.compress).rounding;
  if (!rounding || pipeline_of(definition).empty()) {
    return std::nullopt;
  }
  const Type& type = definition.type;
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::invalid_argument, "compress \"" + definition.compress + "\": " + why);
  };
  if (!can_round(type)) {
    refuse(type_name(type) + " is not rounded, float32 and float64 are: leave " + rounding->text() +
           " out");
  }
  if (rounding->kept > rounding->most(type.bytes)) {
    refuse(type_name(type) + " has " + std::to_string(rounding->most(type.bytes)) + " " +
           rounding->quantiser->digits + ": keep at most so many");
  }
  return rounding;
}

bool is_about_rounding(const std::string& attribute) {
  const auto rows = codec::quantisers();
  return attribute == quantization_attribute ||
         std::any_of(rows.begin(), rows.end(), [&](const codec::Quantiser& row) {
           return attribute == row.attribute || attribute == row.cf_attribute;
         });
}

bool keeps_values(const model::Definition& definition) {
  return definition.compress.empty() || !codec::is_lossy(pipeline_of(definition));
}

std::string compress_for(const Type& type, const std::string& compress) {
  if (can_round(type)) {
    return compress;
  }
  const std::string compressor = codec::parse_compression(compress).compressor;
  return codec::is_lossy(codec::parse_pipeline(compressor, 1)) ? codec::default_compressor()
                                                               : compressor;
}

}  // namespace sluice::layout
