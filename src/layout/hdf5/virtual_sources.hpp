// Virtual datasets that another program made of other files. Sluice's own sets are read part by
// part; these are read by libhdf5.
#pragma once

#include <string>

#include "layout/hdf5/handle.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

/// Which source of a virtual dataset is not there, in words; "" where none is missing. libhdf5
/// would read it as the fill value. `list`: the dataset's creation list; `path`: of its file.
std::string missing_source(hid_t list, const std::string& path, storage::Storage& storage);

}  // namespace sluice::layout::hdf5
