// Begins, replaces and gives up stores, and makes the objects of a commit.
#pragma once

#include <span>
#include <string>

#include "storage/storage.hpp"
#include "storage/store_manifest.hpp"

namespace sluice::storage {

/// Creates the folder of a store that has no manifest yet. An existing store is moved aside: it is
/// kept until forget_replaced(), and restore_store() brings it back. Error exists if something else
/// is there. With `synced` a crash leaves at least one of the two. `manifest` is the name of the
/// new store's manifest.
void begin_store(Storage& storage, const std::string& path, const std::string& manifest,
                 const Manifests& known, bool synced);
/// Restores a store that is_put_aside(), if there is one.
void restore_store(Storage& storage, const std::string& path, const Manifests& known);
/// Removes a store without a commit, and restores the one that was moved aside for it.
void give_up_store(Storage& storage, const std::string& path, const Manifests& known);
/// The new store has its first commit: removes the one that was moved aside.
void forget_replaced(Storage& storage, const std::string& path, bool synced);
/// Creates the objects anew, empty, with their folders; called on one rank.
void make_objects(Storage& storage, const std::string& path, std::span<const Segment> segments);

}  // namespace sluice::storage
