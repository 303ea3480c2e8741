// Attributes in the types that netCDF has, and the ones by which it knows a file.
#pragma once

#include <string>

#include "layout/hdf5/handle.hpp"
#include "model/definition.hpp"

namespace sluice::layout::hdf5 {

/// Text terminated by NUL, as the specification of dimension scales and netCDF require.
void write_terminated_text(hid_t owner, const std::string& name, const std::string& text);
/// As write_attribute, in the types that netCDF has: text as characters, a boolean as a byte.
void write_netcdf_attribute(hid_t owner, const std::string& name,
                            const model::AttributeValue& value);
/// Is it a boolean as written by write_netcdf_attribute? Sluice has no other attributes of one
/// byte.
bool is_flag(hid_t owner, const std::string& name);
/// The attribute in the root group by which netCDF identifies the writer of a file.
void write_netcdf_properties(hid_t file);

}  // namespace sluice::layout::hdf5
