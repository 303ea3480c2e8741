// Fill values of variables that may be written in part.
#pragma once

#include "layout/hdf5/handle.hpp"
#include "model/definition.hpp"

namespace sluice::layout::hdf5 {

/// Does libhdf5 convert a fill value given as a double to this type?
bool is_number(const Type& type);
/// Sets the fill value of a dataset of file type `type` that is to be made. One set by the user is
/// also what marks a variable as partial when the file is opened.
void set_fill(hid_t creation_list, const model::Definition& definition, hid_t type);
/// The inverse, of what any program made: where a user set a fill value, the variable is partial.
/// `type`: that of one element of the dataset, as type_in_file() gives it.
void read_fill(hid_t creation_list, hid_t type, model::Definition& definition);
/// netCDF's attribute _FillValue, which must have the variable's type; numbers only.
void write_fill_attribute(hid_t dataset, const model::Definition& definition);

}  // namespace sluice::layout::hdf5
