#pragma once

#include <string>

#include "storage/storage.hpp"

namespace sluice::storage {

/// Creates a folder, as Storage::make_folder(), and syncs the name of a new one. Is it new?
bool make_durable_folder(Storage& storage, const std::string& path);

}  // namespace sluice::storage
