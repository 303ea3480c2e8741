// Stores of Zarr's version 2, which are only read: what their documents (.zgroup, .zarray, .zattrs,
// and .zmetadata with all of them) say, in the words of version 3.
//
// Invariant: nothing is dropped in silence: an array that version 3 has no words for here stands in
// the result under a data type that names the reason, and so is listed as unreadable.
#pragma once

#include <string>

#include "layout/zarr/metadata.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::zarr {

/// The documents by which a store of version 2 is found, the one that says most first.
inline constexpr const char* version2_documents = ".zmetadata .zarray .zgroup";

/// Does the store have one of them, and does it begin as JSON?
bool is_version2(storage::File& file);
/// The root document that version 3 would have. Where the store has no consolidated metadata, what
/// its folders hold takes their place. Error damaged.
Json version3_of(storage::File& file);
/// The same of the documents of a store, of either version: "g/x/.zarray" and so on. Throws
/// Json::exception where a value is of another type than it should be.
Json version3_of_documents(const Json& documents);
/// The filters by their names in numcodecs; nothing where it lacks one.
std::optional<Json> numcodecs_filters(const codec::Pipeline& pipeline);

}  // namespace sluice::layout::zarr
