#include "layout/netcdf4/rules.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "model/kinds.hpp"
#include "model/name.hpp"

namespace sluice::layout::netcdf4 {

using model::Definition;

std::vector<Use> uses_of(const Definition& definition) {
  std::vector<Use> uses;
  if (definition.stepped) {
    uses.push_back({step_dimension, 0, true});
  }
  for (int d = 0; d < definition.shape.rank(); ++d) {
    const std::uint64_t size = definition.shape[d];
    if (!definition.dimensions.empty()) {
      // In an existing file: the times, or what a netCDF program made along the steps.
      const std::string& name = definition.dimensions[static_cast<std::size_t>(d)];
      const bool is_step = definition.along_steps && name == step_dimension;
      uses.push_back({name, is_step ? 0 : size, is_step});
      continue;
    }
    // xarray cannot handle a dimension that occurs twice in a variable, so the second gets another
    // name.
    const std::string base = "dim_" + std::to_string(size);
    std::string name = base;
    auto is_taken = [&](const Use& use) { return use.name == name; };
    for (int n = 2; std::any_of(uses.begin(), uses.end(), is_taken); ++n) {
      name = base + "_" + std::to_string(n);
    }
    uses.push_back({name, size, false});
  }
  if (definition.type.kind == Kind::string) {
    const std::uint64_t length = definition.type.bytes;
    uses.push_back({"string" + std::to_string(length), length, false});
  }
  return uses;
}

bool has_invented_names(const Definition& definition) {
  Definition nameless = definition;
  nameless.dimensions.clear();
  nameless.stepped = false;
  const std::vector<Use> uses = uses_of(nameless);
  return !definition.dimensions.empty() &&
         std::equal(definition.dimensions.begin(), definition.dimensions.end(), uses.begin(),
                    [](const std::string& name, const Use& use) { return name == use.name; });
}

bool is_coordinate(const Definition& definition) {
  const std::vector<Use> uses = uses_of(definition);
  return uses.size() == 1 && uses[0].name == definition.name;
}

namespace {

[[noreturn]] void refuse(Code code, const Definition& definition, const std::string& why) {
  throw Error(code, "define " + definition.name + ": format netcdf4: " + why);
}

[[noreturn]] void refuse_step_dimension(const Definition& definition) {
  refuse(Code::bad_name, definition,
         "dimension \"time\" is that of the steps in a file with steps: give the fixed one another "
         "name");
}

void check_names(const Definition& definition) {
  for (const std::string& name : definition.dimensions) {
    try {
      model::check_name(name);
    } catch (const Error& e) {
      refuse(Code::bad_name, definition, std::string("dimension: ") + e.what());
    }
    if (name.find('/') != std::string::npos) {
      refuse(Code::bad_name, definition, "dimension " + model::quoted(name) + " with a slash");
    }
    if (name == step_dimension && definition.stepped) {
      refuse_step_dimension(definition);
    }
  }
}

/// An object in the root group with the first part of a variable's name is either a dimension's
/// scale or that variable (or its group), not both, unless the variable is the scale.
void check_against_dimension(const Definition& definition, const Use& use) {
  const std::string first = definition.name.substr(0, definition.name.find('/'));
  if (first == use.name && !is_coordinate(definition)) {
    refuse(Code::bad_name, definition,
           "its name is that of a dimension, but it is not 1-D over just that dimension: rename "
           "one of them");
  }
}

void check_pair(const Definition& definition, const Definition& other) {
  for (const Use& mine : uses_of(definition)) {
    for (const Use& theirs : uses_of(other)) {
      if (mine.name == theirs.name && mine.unlimited != theirs.unlimited) {
        refuse_step_dimension(definition);
      }
      if (mine.name == theirs.name && mine != theirs) {
        refuse(Code::invalid_argument, definition,
               "dimension " + mine.name + " has " + std::to_string(mine.size) +
                   " elements here and " + std::to_string(theirs.size) + " in " + other.name +
                   ": use two names");
      }
    }
  }
  for (const Use& use : uses_of(other)) {
    check_against_dimension(definition, use);
  }
  for (const Use& use : uses_of(definition)) {
    check_against_dimension(other, use);
  }
}

}  // namespace

void check_definition(const Definition& definition, const std::vector<Definition>& others) {
  if (model::is_complex(definition.type.kind)) {
    refuse(Code::unsupported, definition,
           "netCDF has no complex numbers: write the real and the imaginary parts as two "
           "variables, or use format hdf5");
  }
  const auto& fill = definition.fill;
  if (definition.type.kind == Kind::string &&
      std::adjacent_find(fill.begin(), fill.end(), std::not_equal_to()) != fill.end()) {
    refuse(Code::unsupported, definition,
           "netCDF has a single character as the fill value of text: leave it empty, or use format "
           "hdf5");
  }
  if (uses_of(definition).size() > static_cast<std::size_t>(model::max_rank)) {
    refuse(Code::unsupported, definition,
           "with the dimension of its characters it has more than 8: use format hdf5");
  }
  check_names(definition);
  for (const Use& use : uses_of(definition)) {
    check_against_dimension(definition, use);
  }
  for (const Definition& other : others) {
    check_pair(definition, other);
  }
}

bool is_bookkeeping(const std::string& name) {
  static constexpr std::array<const char*, 8> names{
      "CLASS",         "NAME",          "REFERENCE_LIST",     "DIMENSION_LIST", "DIMENSION_LABELS",
      "_Netcdf4Dimid", "_NCProperties", "_Netcdf4Coordinates"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_attribute(const model::Attribute& attribute) {
  const std::string what = "attribute " + attribute.name + " of " +
                           (attribute.owner.empty() ? "the file" : attribute.owner) +
                           ": format netcdf4: ";
  if (is_bookkeeping(attribute.name)) {
    throw Error(Code::unsupported, what + "netCDF keeps this name for itself: choose another");
  }
  if (attribute.name == "_FillValue") {
    throw Error(Code::unsupported,
                what + "follows from the options of define: give partial and fill there");
  }
}

}  // namespace sluice::layout::netcdf4
