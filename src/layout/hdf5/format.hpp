// The rows of the formats whose files are HDF5's.
#pragma once

#include "layout/format.hpp"

namespace sluice::layout::hdf5 {

extern const Format stacked_format;
extern const Format grouped_format;
extern const Format openpmd_format;
extern const Format vtkhdf_format;
extern const Format netcdf4_format;

}  // namespace sluice::layout::hdf5
