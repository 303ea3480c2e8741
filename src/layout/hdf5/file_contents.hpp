// What an open file contains, read back from it.
#pragma once

#include "layout/catalog.hpp"
#include "layout/hdf5/library.hpp"
#include "layout/hdf5/profile.hpp"
#include "layout/part_set.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

/// Those of an open file with a log. `set`: the set that it indexes, or nullptr.
Contents contents_of(hid_t file, storage::File& holder, Profile profile, const PartSet* set);

}  // namespace sluice::layout::hdf5
