#include "layout/netcdf4/rules.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "model/kinds.hpp"
#include "model/name.hpp"
#include "model/reserved_name.hpp"

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

std::optional<std::pair<Use, Use>> find_conflict(std::span<const Use> uses) {
  for (auto use = uses.begin(); use != uses.end(); ++use) {
    const auto earlier = std::find_if(uses.begin(), use, [&](const Use& other) {
      return other.name == use->name && other != *use;
    });
    if (earlier != use) {
      return {{*earlier, *use}};
    }
  }
  return std::nullopt;
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

/// "", or what netCDF has against a part of a name ("NetCDF Names" in the NetCDF User's Guide).
/// Some names that its programs do not make, as .x, they read: these are none of its faults.
std::string fault_of_part(std::string_view part) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  std::string fault;
  if (std::any_of(part.begin(), part.end(), is_control)) {
    fault = "has a control character";
  } else if (part.front() == ' ' || part.back() == ' ') {
    fault = "begins or ends with a space";
  }
  return fault.empty() ? "" : model::quoted(part) + " " + fault + ": netCDF has no such names";
}

std::string fault_of_name(std::string_view name) {
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    if (std::string fault = fault_of_part(name.substr(at, end - at)); !fault.empty()) {
      return fault;
    }
    at = end + 1;
  }
  return "";
}

void check_names(const Definition& definition) {
  if (const std::string fault = fault_of_name(definition.name); !fault.empty()) {
    refuse(Code::unsupported, definition, fault + ": choose another, or use format hdf5");
  }
  for (const std::string& name : definition.dimensions) {
    try {
      model::check_name(name);
    } catch (const Error& e) {
      refuse(Code::bad_name, definition, std::string("dimension: ") + e.what());
    }
    if (name.find('/') != std::string::npos) {
      refuse(Code::bad_name, definition, "dimension " + model::quoted(name) + " with a slash");
    }
    if (const std::string fault = fault_of_part(name); !fault.empty()) {
      refuse(Code::bad_name, definition, "dimension " + fault);
    }
    if (model::is_reserved(name)) {
      refuse(Code::bad_name, definition,
             "dimension " + name +
                 ": the group /sluice belongs to the library: give the dimension another name");
    }
    if (name == step_dimension && definition.stepped) {
      refuse_step_dimension(definition);
    }
  }
}

/// An object in the root group with the first part of a variable's name is either a dimension's
/// scale or that variable (or its group), not both, unless the variable is the scale.
[[noreturn]] void refuse_name(const std::string& variable) {
  throw Error(Code::bad_name,
              "define " + variable +
                  ": format netcdf4: its name is that of a dimension, but it is not 1-D over just "
                  "that dimension: rename one of them");
}

std::string first_part(const std::string& name) { return name.substr(0, name.find('/')); }

/// What netCDF does not hold at all.
void check_alone(const Definition& definition, const std::vector<Use>& uses) {
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
  if (uses.size() > static_cast<std::size_t>(model::max_rank)) {
    refuse(Code::unsupported, definition,
           "with the dimension of its characters it has more than 8: use format hdf5");
  }
  check_names(definition);
  const bool is_one = is_coordinate(definition);
  const std::string first = first_part(definition.name);
  if (!is_one &&
      std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return use.name == first; })) {
    refuse_name(definition.name);
  }
}

}  // namespace

void NameRules::check(const Definition& definition) const {
  const std::vector<Use> uses = uses_of(definition);
  check_alone(definition, uses);
  if (const auto conflict = find_conflict(uses)) {
    const auto& [first, second] = *conflict;
    refuse(Code::invalid_argument, definition,
           "dimension " + first.name + " has " + std::to_string(first.size) + " elements and " +
               std::to_string(second.size) + " in the same variable: use two names");
  }
  for (const Use& use : uses) {
    check_against(definition, use);
  }
  if (dimensions_.count(first_part(definition.name)) != 0 && !is_coordinate(definition)) {
    refuse_name(definition.name);
  }
  if (is_coordinate(definition) && settled_.count(definition.name) != 0) {
    refuse(Code::unsupported, definition, no_late_coordinates);
  }
}

void NameRules::check_against(const Definition& definition, const Use& use) const {
  const auto found = dimensions_.find(use.name);
  if (found != dimensions_.end()) {
    for (const KnownUse& known : found->second) {
      if (known.use.unlimited != use.unlimited) {
        refuse_step_dimension(definition);
      }
      if (known.use != use) {
        refuse(Code::invalid_argument, definition,
               "dimension " + use.name + " has " + std::to_string(use.size) +
                   " elements here and " + std::to_string(known.use.size) + " in " +
                   known.variable + ": use two names");
      }
    }
  }
  const auto other = others_.find(use.name);
  if (other != others_.end()) {
    refuse_name(other->second);
  }
}

void NameRules::add(const Definition& definition) {
  for (Use& use : uses_of(definition)) {
    std::vector<KnownUse>& known = dimensions_[use.name];
    if (known.empty()) {
      unsettled_.push_back(use.name);
    }
    if (std::none_of(known.begin(), known.end(),
                     [&](const KnownUse& one) { return one.use == use; })) {
      known.push_back({std::move(use), definition.name});
    }
  }
  if (!is_coordinate(definition)) {
    others_.emplace(first_part(definition.name), definition.name);
  }
}

void NameRules::settle() {
  settled_.insert(unsettled_.begin(), unsettled_.end());
  unsettled_.clear();
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
  if (const std::string fault = fault_of_name(attribute.name); !fault.empty()) {
    throw Error(Code::unsupported, what + fault + ": choose another");
  }
  if (attribute.name == "_FillValue") {
    throw Error(Code::unsupported,
                what + "follows from the options of define: give partial and fill there");
  }
}

}  // namespace sluice::layout::netcdf4
