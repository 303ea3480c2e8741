// Virtual datasets that another program made from other files. Sluice's own sets are read part by
// part; these are read by libhdf5.
#pragma once

#include <string>

#include "layout/hdf5/handle.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

/// The source of a virtual dataset that is missing, for messages; "" if none is. libhdf5 would read
/// it as the fill value. `list`: the dataset's creation list; `path`: of its file.
std::string missing_source(hid_t list, const std::string& path, storage::Storage& storage);

}  // namespace sluice::layout::hdf5
