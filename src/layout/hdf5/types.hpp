// Conversion of element types between Sluice and libhdf5.
#pragma once

#include <optional>

#include "layout/hdf5/handle.hpp"
#include "model/dims.hpp"
#include "sluice/types.hpp"

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

/// A simple dataspace; a scalar one for rank 0.
Handle dataspace(const model::Dims& dims);

}  // namespace sluice::layout::hdf5
