#include "layout/hdf5/profile.hpp"

#include "layout/hdf5/fill.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/netcdf4/scales.hpp"

namespace sluice::layout::hdf5 {

const char* profile_name(Profile profile) {
  return profile == Profile::grouped   ? layout_grouped
         : profile == Profile::netcdf4 ? layout_netcdf4
                                       : layout_stacked;
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

void write_attribute_of(Profile profile, hid_t owner, const std::string& name,
                        const model::AttributeValue& value) {
  if (profile == Profile::netcdf4) {
    netcdf4::write_attribute(owner, name, value);
  } else {
    write_attribute(owner, name, value);
  }
}

void mark(Profile profile, hid_t dataset, const model::Definition& definition) {
  if (definition.partial) {
    write_fill_attribute(dataset, definition);
  }
  if (definition.varying) {
    write_attribute_of(profile, dataset, varying_attribute,
                       profile == Profile::grouped ? std::string("as the dataset of each step says")
                                                   : definition.name + length_suffix);
  }
  if (profile == Profile::netcdf4 && definition.type.kind == Kind::boolean) {
    netcdf4::write_attribute(dataset, flag_attribute, std::string(flag_type));
  } else if (profile == Profile::netcdf4 && definition.type.kind == Kind::string) {
    netcdf4::write_attribute(dataset, text_attribute, std::string(text_encoding));
  }
}

}  // namespace sluice::layout::hdf5
