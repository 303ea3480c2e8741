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
/// netCDF gives a variable of uint64 a fill value for which nobody asked, and then no attribute
/// _FillValue. Of one that was asked for, the attribute is beyond what attributes hold, so that
/// only here is it known: such a variable is not partial. Of files by other programs.
void forget_default_of_uint64(hid_t dataset, model::Definition& definition);
/// Is it the attribute _FillValue of a dataset of uint64, beyond what attributes hold, and its fill
/// value? Then the definition says it.
bool is_large_fill(hid_t object, const std::string& attribute);
/// netCDF's attribute _FillValue, which must have the type of the variable; numbers only.
void write_fill_attribute(hid_t dataset, const model::Definition& definition);

}  // namespace sluice::layout::hdf5
