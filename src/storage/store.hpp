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

namespace sluice::storage {

/// The names of manifests that are known.
using Manifests = std::vector<std::string>;
/// A manifest is held in memory whole: about 60,000 variables.
inline constexpr std::uint64_t most_manifest_bytes = 64 << 20;

/// The path of an object of the store at `path`. Error bad_name if `name`, which may come from a
/// file, would lead out of the store.
std::string object_path(const std::string& path, const std::string& name);
bool is_store(Storage& storage, const std::string& path, const Manifests& known);
/// Creates the folder of a store that has no manifest yet. An existing store is moved aside: it is
/// kept until forget_replaced(), and restore_store() brings it back. Error exists if something else
/// is there. With `synced` a crash leaves at least one of the two. `manifest` is the name of the
/// new store's manifest.
void begin_store(Storage& storage, const std::string& path, const std::string& manifest,
                 const Manifests& known, bool synced);
/// Was a store moved aside by a run that ended before its first commit?
bool is_put_aside(Storage& storage, const std::string& path, const Manifests& known);
/// Restores such a store, if there is one.
void restore_store(Storage& storage, const std::string& path, const Manifests& known);
/// Removes a store without a commit, and restores the one that was moved aside for it.
void give_up_store(Storage& storage, const std::string& path, const Manifests& known);
/// The new store has its first commit: removes the one that was moved aside.
void forget_replaced(Storage& storage, const std::string& path, bool synced);
/// The file at `path`, or the store. `storage` must outlive a store.
std::unique_ptr<File> open_data(Storage& storage, const std::string& path, const Manifests& known,
                                Access access);
/// The file at `path`, which describes data in others, for reading: they are its objects, by their
/// paths below its folder. No link below that folder is followed.
std::unique_ptr<File> open_with_neighbours(Storage& storage, const std::string& path);
/// Creates the objects anew, empty, with their folders; called on one rank.
void make_objects(Storage& storage, const std::string& path, std::span<const Segment> segments);

}  // namespace sluice::storage
