// A folder of files, its objects, seen as one range of bytes, so that whoever writes by address
// need not know of files.
//
// Invariants: addresses [0, size of the manifest) are the manifest as it was when the store was
// opened; every other address belongs to at most one object, by map(). A store is a folder with a
// manifest, the object that says what the others are, or with the one that will be renamed to it.
// What manifests are called is the formats' matter: layout/stores.hpp. At most open_objects_max
// objects are open; one that is closed earlier is opened once more where it has to be synced.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "storage/storage.hpp"

namespace sluice::storage {

/// The names of manifests that are known.
using Manifests = std::vector<std::string>;
/// A manifest is held in memory whole: about 60,000 variables.
inline constexpr std::uint64_t most_manifest_bytes = 64 << 20;
/// Under this ending an object is made that replaces another one.
inline constexpr const char* new_ending = ".sluice-new";
/// Under this ending a store stands while another one takes its place.
inline constexpr const char* old_ending = ".sluice-old";
/// Under this ending a folder is made before it takes the name of a store.
inline constexpr const char* begun_ending = ".sluice-begun";
/// Under this ending a folder waits for its removal, of which a crash may leave a part.
inline constexpr const char* gone_ending = ".sluice-gone";

/// Where an object of the store at `path` lies. Error bad_name where `name`, which may come from a
/// file, would lead out of the store.
std::string object_path(const std::string& path, const std::string& name);
bool is_store(Storage& storage, const std::string& path, const Manifests& known);
/// Makes the folder of a store that has no manifest yet. A store that is there is put aside: until
/// forget_replaced() it stands beside, and restore_store() brings it back. Error exists where there
/// is something else. With `synced` no crash leaves less than the one or the other.
/// `manifest` is the name that the new one's will have.
void begin_store(Storage& storage, const std::string& path, const std::string& manifest,
                 const Manifests& known, bool synced);
/// Was a store put aside by a run that ended before its first commit?
bool is_put_aside(Storage& storage, const std::string& path, const Manifests& known);
/// Puts such a store back, if there is one.
void restore_store(Storage& storage, const std::string& path, const Manifests& known);
/// Removes a store that has no commit, and puts back what was put aside for it.
void give_up_store(Storage& storage, const std::string& path, const Manifests& known);
/// The new store has its first commit: the one put aside is removed.
void forget_replaced(Storage& storage, const std::string& path, bool synced);
/// The file at `path`, or the store. `storage` must outlive a store.
std::unique_ptr<File> open_data(Storage& storage, const std::string& path, const Manifests& known,
                                Access access);
/// Makes the objects anew, empty, and their folders; one rank.
void make_objects(Storage& storage, const std::string& path, std::span<const Segment> segments);

}  // namespace sluice::storage
