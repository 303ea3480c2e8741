#include "layout/hdf5/profile.hpp"

#include <algorithm>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/fill.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/netcdf_attributes.hpp"
#include "layout/hdf5/openpmd_attributes.hpp"
#include "layout/hdf5/scales.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/lengths.hpp"
#include "layout/openpmd/rules.hpp"
#include "model/kinds.hpp"
#include "model/name.hpp"

namespace sluice::layout::hdf5 {

const char* profile_name(Profile profile) {
  return profile == Profile::grouped   ? layout_grouped
         : profile == Profile::netcdf4 ? layout_netcdf4
         : profile == Profile::vtkhdf  ? layout_vtkhdf
         : profile == Profile::openpmd ? layout_openpmd
                                       : layout_stacked;
}

std::optional<Profile> find_profile(std::string_view name) {
  for (const Profile profile :
       {Profile::stacked, Profile::grouped, Profile::netcdf4, Profile::vtkhdf, Profile::openpmd}) {
    if (name == profile_name(profile)) {
      return profile;
    }
  }
  return std::nullopt;
}

Profile profile_named(std::string_view name) {
  if (const auto profile = find_profile(name)) {
    return *profile;
  }
  throw Error(Code::internal, std::string(name) + ": no arrangement of HDF5 files");
}

Handle type_in_file(Profile profile, const Type& type) {
  if (profile == Profile::netcdf4 && type.kind == Kind::boolean) {
    return own(H5Tcopy(H5T_STD_I8LE), "number type");
  }
  if (profile == Profile::netcdf4 && type.kind == Kind::string) {
    return own(H5Tcopy(H5T_C_S1), "character type");
  }
  return file_type(type);
}

model::Dims dims_in_file(Profile profile, const model::Definition& definition, model::Dims shape) {
  if (profile == Profile::netcdf4 && definition.type.kind == Kind::string) {
    shape.push_back(definition.type.bytes);
  }
  return shape;
}

std::vector<netcdf4::Use> uses_of(Profile profile, const model::Definition& definition) {
  if (profile == Profile::netcdf4) {
    return netcdf4::uses_of(definition);
  }
  std::vector<netcdf4::Use> uses;
  if (definition.dimensions.size() != static_cast<std::size_t>(definition.shape.rank())) {
    return uses;
  }
  if (definition.stepped && has_optional_scales(profile)) {
    uses.push_back({netcdf4::step_dimension, 0, true});
  }
  for (int d = 0; d < definition.shape.rank(); ++d) {
    uses.push_back(
        {definition.dimensions[static_cast<std::size_t>(d)], definition.shape[d], false});
  }
  return uses;
}

bool has_fixed_time(Profile profile, std::span<const model::Definition> definitions) {
  return profile == Profile::netcdf4 &&
         std::any_of(definitions.begin(), definitions.end(), [](const model::Definition& d) {
           return !d.along_steps && std::find(d.dimensions.begin(), d.dimensions.end(),
                                              netcdf4::step_dimension) != d.dimensions.end();
         });
}

bool is_coordinate(Profile profile, const model::Definition& definition) {
  if (profile == Profile::netcdf4) {
    return netcdf4::is_coordinate(definition);
  }
  const bool is_complex = model::is_complex(definition.type.kind);  // no netCDF type
  return has_optional_scales(profile) && !definition.stepped && !is_complex &&
         definition.dimensions == std::vector<std::string>{definition.name} &&
         definition.name.find('/') == std::string::npos;
}

bool may_have_scale(Profile profile, const netcdf4::Use& use,
                    std::span<const model::Definition> definitions) {
  const std::string& name = use.name;
  if (!model::is_name(name) || name.find('/') != std::string::npos || name == group_name) {
    return false;
  }
  return std::all_of(definitions.begin(), definitions.end(), [&](const model::Definition& d) {
    const bool is_taken = d.name.compare(0, name.size(), name) == 0 &&
                          (d.name.size() == name.size() || d.name[name.size()] == '/');
    return !is_taken || (is_coordinate(profile, d) && !use.unlimited && d.shape[0] == use.size);
  });
}

bool uses_scales(Profile profile, std::span<const model::Definition> definitions) {
  return profile == Profile::netcdf4 ||
         (has_optional_scales(profile) &&
          std::any_of(definitions.begin(), definitions.end(),
                      [](const model::Definition& d) { return !d.dimensions.empty(); }));
}

bool may_have_scales(Profile profile, std::span<const netcdf4::Use> uses,
                     std::span<const model::Definition> definitions, const Scales& scales,
                     bool has_time) {
  if (profile == Profile::netcdf4) {
    return true;
  }
  // Variables with steps and no other dimension use the names of the others.
  return !uses.empty() && !netcdf4::find_conflict(uses) && uses_scales(profile, definitions) &&
         std::all_of(uses.begin(), uses.end(), [&](const netcdf4::Use& use) {
           if (const netcdf4::Use* scale = scales.find(use.name)) {
             return *scale == use;
           }
           return (use.unlimited && has_time) || may_have_scale(profile, use, definitions);
         });
}

bool is_iteration(Profile profile, const model::Attribute& attribute) {
  return profile == Profile::openpmd && openpmd::is_iteration(attribute);
}

bool is_openpmd_part(Profile profile, std::string_view owner) {
  return profile == Profile::openpmd && openpmd::is_of_iteration(owner);
}

Handle creation_list(Profile profile, const model::Definition& definition) {
  Handle list = own(H5Pcreate(H5P_DATASET_CREATE), definition.name);
  set_order(list.get(), definition.name);
  if (definition.has_fill()) {
    set_fill(list.get(), definition, type_in_file(profile, definition.type).get());
  }
  return list;
}

void write_attribute_of(Profile profile, hid_t owner, const std::string& name,
                        const model::AttributeValue& value) {
  if (profile == Profile::netcdf4) {
    write_netcdf_attribute(owner, name, value);
  } else if (profile == Profile::openpmd) {
    write_openpmd_attribute(owner, name, value);
  } else {
    write_attribute(owner, name, value);
  }
}

void mark(Profile profile, hid_t dataset, const model::Definition& definition) {
  if (definition.has_fill()) {
    write_fill_attribute(dataset, definition);
  }
  if (definition.varying) {
    write_attribute_of(profile, dataset, varying_attribute,
                       is_grouped(profile) ? std::string("as the dataset of each step says")
                                           : length_name(definition.name));
  }
  if (profile != Profile::netcdf4 && !definition.dimensions.empty()) {
    std::vector<std::string> labels;
    for (const netcdf4::Use& use : uses_of(profile, definition)) {
      labels.push_back(use.name);
    }
    write_attribute(dataset, labels_name, labels);
  }
  if (profile == Profile::netcdf4 && definition.type.kind == Kind::boolean) {
    write_netcdf_attribute(dataset, flag_attribute, std::string(flag_type));
  } else if (profile == Profile::netcdf4 && definition.type.kind == Kind::string) {
    write_netcdf_attribute(dataset, text_attribute, std::string(text_encoding));
  }
}

bool says_kind(const model::Attribute& attribute, Kind kind) {
  const auto* const text = std::get_if<std::string>(&attribute.value);
  return text != nullptr &&
         ((kind == Kind::boolean && attribute.name == flag_attribute && *text == flag_type) ||
          (kind == Kind::string && attribute.name == text_attribute && *text == text_encoding));
}

}  // namespace sluice::layout::hdf5
