// What Sluice does not encode, taken over from one HDF5 file into another by libhdf5 itself:
// datasets of any type, attributes of any type and shape, groups, committed types, links.
//
// Invariants: what is in the new file already keeps its elements, and gets the attributes that it
// lacks or has in another type or shape; references lead to the object of the same name, or nowhere
// if it is left out; elements go through libhdf5's buffers, never whole; nothing is dropped without
// being named.
#pragma once

#include <string>
#include <vector>

#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

/// Both are HDF5 files. `written`: the names of the variables of `from` that `into` has already.
/// Returns what could not be taken over, each with its reason. One rank. Not synced. `into` keeps
/// the time of modification that its last commit of Sluice names.
std::vector<std::string> carry(storage::File& from, storage::File& into,
                               const std::vector<std::string>& written);

}  // namespace sluice::layout::hdf5
