// A folder of files, its objects, seen as one range of bytes, so that code which writes by address
// need not know of files.
//
// Invariants: addresses [0, size of the manifest) are the manifest as it was when the store was
// opened; every other address belongs to at most one object, by map(). A store is a folder with a
// manifest, the object that describes the others, or with the one that will be renamed to it. The
// formats define the names of manifests: layout/formats/stores.hpp. At most open_objects_max
// objects are open; one that is closed earlier is opened again if it has to be synced.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/endings.hpp"
#include "storage/storage.hpp"
#include "storage/store_manifest.hpp"

namespace sluice::storage {

/// A manifest is held in memory whole: about 60,000 variables.
inline constexpr std::uint64_t most_manifest_bytes = 64 << 20;

/// The file at `path`, or the store. `storage` must outlive a store.
std::unique_ptr<File> open_data(Storage& storage, const std::string& path, const Manifests& known,
                                Access access);
/// The file at `path`, which describes data in others, for reading: they are its objects, by their
/// paths below its folder. No link below that folder is followed.
std::unique_ptr<File> open_with_neighbours(Storage& storage, const std::string& path);

}  // namespace sluice::storage
