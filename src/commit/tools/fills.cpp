#include "commit/tools/fills.hpp"

#include <vector>

#include "layout/formats/formats.hpp"
#include "model/fill.hpp"
#include "model/fill_attribute.hpp"
#include "model/kernels.hpp"
#include "model/kinds.hpp"

namespace sluice::commit {

namespace {

using model::fill_attribute_name;

/// Of the variable; nullptr: it has none of that name.
const model::Attribute* attribute_of(const Input& input, const char* name,
                                     const model::Definition& definition) {
  for (const std::size_t i : input.attributes_of(definition.name)) {
    if (input.attributes()[i].name == name) {
      return &input.attributes()[i];
    }
  }
  return nullptr;
}

/// The element that an attribute says (model/fill_attribute); also empty: the variable has no
/// attribute of that name.
std::optional<std::vector<std::byte>> element_of(const Input& input, const char* name,
                                                 const model::Definition& definition) {
  const model::Attribute* const attribute = attribute_of(input, name, definition);
  return attribute != nullptr ? model::element_said(*attribute, definition) : std::nullopt;
}

/// Is the fill value of the variable not what programs take for missing, because an attribute says
/// another, or, in a file by another program, a number that the type cannot hold?
bool is_overruled(const Input& input, const model::Definition& definition) {
  const model::Attribute* const said = attribute_of(input, fill_attribute_name, definition);
  return said != nullptr && (model::element_said(*said, definition) ||
                             (model::is_real(definition.type.kind) && !input.written_by_sluice()));
}

/// Has the variable netCDF's fill value for which nobody asked? It is not partial (hdf5/fill).
bool is_default_of_uint64(const Input& input, const model::Definition& definition) {
  return !input.written_by_sluice() && !definition.partial && definition.type.kind == Kind::u64 &&
         definition.fill == model::fill_bytes(model::netcdf_fill_of_uint64, definition.type);
}

void forget_fill(model::Definition& definition) {
  definition.partial = definition.gives_fill = false;
  definition.fill.clear();
}

}  // namespace

bool is_fill(const model::Attribute& attribute, const model::Definition& definition) {
  return definition.has_fill() && attribute.name == fill_attribute_name &&
         attribute.owner == definition.name;
}

std::vector<std::byte> fill_of(const Input& input, const model::Definition& definition) {
  const auto said = element_of(input, fill_attribute_name, definition);
  std::vector<std::byte> element = said ? *said : definition.fill;
  element.resize(definition.type.bytes);  // no bytes stand for zeros
  return element;
}

std::vector<std::vector<std::byte>> missing_elements(const Input& input,
                                                     const model::Definition& definition) {
  std::vector<std::vector<std::byte>> elements;
  for (const char* name : {fill_attribute_name, "missing_value"}) {
    if (const auto element = element_of(input, name, definition)) {
      elements.push_back(*element);
    }
  }
  model::Definition partial = definition;
  if (partial.type.bytes == 1) {
    forget_default_fill(input, partial);
  }
  const bool is_missing = partial.has_fill() || is_default_of_uint64(input, definition);
  if (is_missing && !partial.fill.empty() && !is_overruled(input, definition)) {
    elements.push_back(partial.fill);
  }
  for (std::vector<std::byte>& element : elements) {
    element.resize(definition.type.bytes);  // no bytes stand for zeros
  }
  return elements;
}

void forget_default_fill(const Input& input, model::Definition& definition) {
  if (!definition.partial || input.written_by_sluice() ||
      attribute_of(input, fill_attribute_name, definition) != nullptr) {
    return;
  }
  // Of uint64 the reader of HDF5 knows whether it was asked for (hdf5/fill).
  const bool is_default = definition.type.kind != Kind::u64 &&
                          model::default_fill_of_netcdf(definition.type) == definition.fill;
  if (definition.fill.empty() || is_default) {
    forget_fill(definition);
  }
}

void append_lost_fill(const Input& input, const model::Definition& source,
                      const model::Definition& copy, std::vector<std::string>& changes) {
  const bool is_said = !input.written_by_sluice() && !source.has_fill() && !source.fill.empty() &&
                       !is_default_of_uint64(input, source);
  if (is_said && !copy.has_fill()) {
    changes.push_back(source.name + ": its fill value " +
                      model::value_text(source.fill.data(), source.type) +
                      " is not kept: every element is written, and no attribute _FillValue says "
                      "that it is a missing value");
  }
}

void take_fill(const Input& input, const layout::Format& format, model::Definition& definition) {
  const model::Attribute* const said = attribute_of(input, fill_attribute_name, definition);
  if (said == nullptr) {
    return;
  }
  const auto element = model::element_said(*said, definition);
  if (!element) {
    // The attribute stays as it is.
    if (is_overruled(input, definition)) {
      forget_fill(definition);
    }
    return;
  }
  model::Definition alone = definition;
  alone.dimensions.clear();
  alone.partial = true;
  alone.fill = *element;
  if (layout::accepts(format, alone)) {
    definition.partial = !definition.gives_fill;
    definition.fill = *element;
  }
}

}  // namespace sluice::commit
