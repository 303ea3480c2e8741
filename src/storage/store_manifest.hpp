// What names say of a store: where its manifest and its objects are, and whether there is one.
#pragma once

#include <string>
#include <vector>

#include "storage/storage.hpp"

namespace sluice::storage {

/// The names of manifests that are known.
using Manifests = std::vector<std::string>;

/// The path of an object of the store at `path`. Error bad_name if `name`, which may come from a
/// file, would lead out of the store.
std::string object_path(const std::string& path, const std::string& name);
std::string manifest_path(const std::string& path, const std::string& manifest);
/// The name of the manifest of the store at `path`; "" if there is none (yet).
std::string manifest_at(Storage& storage, const std::string& path, const Manifests& known,
                        const char* ending = "");
bool has_manifest(Storage& storage, const std::string& path, const Manifests& known);
/// Has it a manifest, or the one that will be renamed to it?
bool is_store(Storage& storage, const std::string& path, const Manifests& known);
/// Was a store moved aside by a run that ended before its first commit?
bool is_put_aside(Storage& storage, const std::string& path, const Manifests& known);

}  // namespace sluice::storage
