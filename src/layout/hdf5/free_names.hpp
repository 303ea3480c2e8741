// Names in a file to which another program has given objects of its own.
#pragma once

#include <string>

#include "layout/hdf5/handle.hpp"

namespace sluice::layout::hdf5 {

/// Error exists if the file has an object called `name` already, or one above it that is no group:
/// Sluice knows its own. `what`: for which it is to be made.
void require_free(hid_t file, const std::string& name, const std::string& what);

}  // namespace sluice::layout::hdf5
