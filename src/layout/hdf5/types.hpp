// Conversion of element types and attributes between Sluice and libhdf5.
#pragma once

#include <optional>

#include "layout/hdf5/handle.hpp"
#include "model/definition.hpp"

namespace sluice::layout::hdf5 {

/// The type as stored: little-endian; complex as {r, i} and boolean as {FALSE, TRUE} like h5py.
Handle file_type(const Type& type);

struct StoredType {
  Type type;
  bool big_endian = false;
};
/// The Sluice type of a stored type; empty if it has none (compounds other than complex,
/// variable-length data, references, unusual bit layouts).
std::optional<StoredType> stored_type(hid_t type);
/// The memory type in which libhdf5 returns elements of stored type `stored` as those of `type`: a
/// boolean that netCDF stores as a byte stays a byte; `is_characters`: text that netCDF stores as
/// single characters stays that way.
Handle element_type(hid_t stored, const Type& type, bool is_characters);

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
/// Empty if it does not exist, or an AttributeValue cannot hold it.
std::optional<model::AttributeValue> read_attribute(hid_t owner, const std::string& name);
/// netCDF's programs copy a number, or a text, as a list of one.
std::optional<std::int32_t> only_number(const model::AttributeValue& value);

/// A simple dataspace; a scalar one for rank 0.
Handle dataspace(const model::Dims& dims);

}  // namespace sluice::layout::hdf5
