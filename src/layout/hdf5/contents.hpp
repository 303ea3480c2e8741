// What a file contains, as a list of hashes in an attribute of /sluice: written with each commit
// that changes it, and compared on reading.
#pragma once

#include <string>

#include "layout/catalog.hpp"
#include "layout/hdf5/library.hpp"

namespace sluice::layout::hdf5 {

/// Writes the contents to the group /sluice of the file.
void write_contents(hid_t file, const Contents& contents);
/// Those written to the group /sluice of the file at `path`; Error damaged if there are none.
Contents read_contents(hid_t group, const std::string& path);

}  // namespace sluice::layout::hdf5
