// What a file contains, as a list of hashes in an attribute of /sluice: written with each commit
// that changes it, and compared on reading.
#pragma once

#include <string>

#include "layout/catalog.hpp"
#include "layout/hdf5/handle.hpp"
#include "layout/hdf5/profile.hpp"
#include "layout/part_set.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

/// Those of an open file with a log. `set`: the set that it indexes, or nullptr.
Contents contents_of(hid_t file, storage::File& holder, Profile profile, const PartSet* set);
/// Writes them to the group /sluice of the file.
void write_contents(hid_t file, const Contents& contents);
/// Those written to the group /sluice of the file at `path`; Error damaged if there are none.
Contents read_contents(hid_t group, const std::string& path);

}  // namespace sluice::layout::hdf5
