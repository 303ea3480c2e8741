// Fill values of partial variables.
#pragma once

#include <string>

#include "layout/hdf5/handle.hpp"
#include "model/definition.hpp"

namespace sluice::layout::hdf5 {

/// Sets the fill value of a dataset of file type `type` before it is created. One set by the user
/// also marks a variable as partial when the file is opened.
void set_fill(hid_t creation_list, const model::Definition& definition, hid_t type);
/// The inverse, for datasets of any program: if a user set a fill value, the variable is partial.
/// `type`: that of one element, as element_type() returns it.
void read_fill(hid_t creation_list, hid_t type, model::Definition& definition);
/// A number is not partial where an attribute _FillValue of uint64 says another one, or where there
/// is none, and the fill value is netCDF's of uint64, for which nobody asked. Both are known only
/// here: such a number is beyond what attributes hold. Of files by other programs.
void forget_unasked_fill(hid_t dataset, model::Definition& definition);
/// Is it the attribute _FillValue of a dataset of uint64, beyond what attributes hold, and its fill
/// value? Then the definition says it.
bool is_large_fill(hid_t object, const std::string& attribute);
/// netCDF's attribute _FillValue, which must have the type of the variable; numbers only.
void write_fill_attribute(hid_t dataset, const model::Definition& definition);

}  // namespace sluice::layout::hdf5
