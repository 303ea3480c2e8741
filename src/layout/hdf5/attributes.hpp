// Attributes of HDF5 objects: written in the types that other programs expect, and read into
// values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/hdf5/handle.hpp"
#include "model/definition.hpp"

namespace sluice::layout::hdf5 {

/// Creates or replaces an attribute of the object `owner`. Strings are UTF-8 of variable length, so
/// that h5py, netCDF4 and xarray return them as text.
void write_attribute(hid_t owner, const std::string& name, const model::AttributeValue& value);
/// Text of a fixed length, in ASCII if possible: for readers that accept no other.
void write_fixed_text(hid_t owner, const std::string& name, const std::string& text);
/// All padded with NUL to the length of the longest.
void write_fixed_texts(hid_t owner, const std::string& name, const std::vector<std::string>& texts);
/// Creates or replaces an attribute: `values` point to elements of `type`, as H5Awrite expects.
void write_values(hid_t owner, const std::string& name, hid_t type, const model::Dims& dims,
                  const void* values);
/// The same in the dataspace `space`; null: without values.
void write_in_space(hid_t owner, const std::string& name, hid_t type, hid_t space,
                    const void* values);
/// Error damaged if an attribute claims more elements than its file has bytes for.
void require_plausible_count(hid_t attribute, hid_t type, hssize_t points, const std::string& what);
/// Empty if it does not exist, or an AttributeValue cannot hold it.
std::optional<model::AttributeValue> read_attribute(hid_t owner, const std::string& name);
/// netCDF's programs copy a number, or a text, as a list of one: both forms are accepted.
std::optional<std::int32_t> only_number(const model::AttributeValue& value);
/// Empty if it does not exist, or is no text.
std::optional<std::string> read_text_attribute(hid_t owner, const std::string& name);

}  // namespace sluice::layout::hdf5
