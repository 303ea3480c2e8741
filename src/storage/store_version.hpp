// A store that has several manifests, each of which describes a version of it.
#pragma once

#include <memory>
#include <string>

#include "storage/storage.hpp"

namespace sluice::storage {

/// The store at `path` as its manifest of this name describes it, for reading; messages name it as
/// `shown`. `storage` must outlive it.
std::unique_ptr<File> open_manifest(Storage& storage, const std::string& path,
                                    const std::string& manifest, const std::string& shown);

}  // namespace sluice::storage
