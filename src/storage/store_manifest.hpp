// The names of a store's manifest, for the files of store.hpp.
#pragma once

#include <string>

#include "storage/store.hpp"

namespace sluice::storage {

std::string manifest_path(const std::string& path, const std::string& manifest);
/// The name of the manifest of the store at `path`; "" if there is none (yet).
std::string manifest_at(Storage& storage, const std::string& path, const Manifests& known,
                        const char* ending = "");
bool has_manifest(Storage& storage, const std::string& path, const Manifests& known);

}  // namespace sluice::storage
