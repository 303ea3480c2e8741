#include "layout/hdf5/netcdf_attributes.hpp"

#include <algorithm>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

namespace {

Handle netcdf_text_type(std::size_t bytes, H5T_cset_t characters) {
  Handle type = own(H5Tcopy(H5T_C_S1), "text type");
  check(H5Tset_size(type.get(), std::max<std::size_t>(1, bytes)), "text type");
  check(H5Tset_cset(type.get(), characters), "text type");
  return type;
}

}  // namespace

void write_terminated_text(hid_t owner, const std::string& name, const std::string& text) {
  const Handle type = netcdf_text_type(text.size() + 1, H5T_CSET_ASCII);
  const Handle space = dataspace({});
  write_in_space(owner, name, type.get(), space.get(), text.c_str());
}

void write_netcdf_attribute(hid_t owner, const std::string& name,
                            const model::AttributeValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) {
    const Handle space = dataspace({});
    const std::int8_t byte = *flag ? 1 : 0;
    write_in_space(owner, name, H5T_STD_I8LE, space.get(), &byte);
    return;
  }
  if (const auto* byte = std::get_if<std::int8_t>(&value)) {
    write_attribute(owner, name, std::vector<std::int8_t>{*byte});  // else read as a boolean
    return;
  }
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) {
    write_attribute(owner, name, value);
    return;
  }
  const Handle type = netcdf_text_type(text->size(), H5T_CSET_UTF8);
  if (text->find('\0') != std::string::npos) {
    check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), name);  // else it would end there
  }
  const bool is_empty = text->empty();
  const Handle space = is_empty ? own(H5Screate(H5S_NULL), name) : dataspace({});
  write_in_space(owner, name, type.get(), space.get(), is_empty ? nullptr : text->data());
}

bool is_flag(hid_t owner, const std::string& name) {
  if (name == "_FillValue") {
    return false;
  }
  const Handle attribute = own(H5Aopen(owner, name.c_str(), H5P_DEFAULT), "attribute " + name);
  const Handle type = own(H5Aget_type(attribute.get()), "attribute " + name);
  const Handle space = own(H5Aget_space(attribute.get()), "attribute " + name);
  return is_yes(H5Tequal(type.get(), H5T_STD_I8LE), "attribute " + name) &&
         H5Sget_simple_extent_type(space.get()) == H5S_SCALAR;
}

void write_netcdf_properties(hid_t file) {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  check(H5get_libversion(&major, &minor, &release), "version of libhdf5");
  write_terminated_text(file, "_NCProperties",
                        "version=2,sluice=" + std::to_string(format_major) + "." +
                            std::to_string(format_minor) + ",hdf5=" + std::to_string(major) + "." +
                            std::to_string(minor) + "." + std::to_string(release));
}

}  // namespace sluice::layout::hdf5
