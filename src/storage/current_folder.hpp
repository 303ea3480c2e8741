// Relative paths that are used again later, after the program may have changed its current folder.
#pragma once

#include <string>

#include "storage/storage.hpp"

namespace sluice::storage {

/// Does `path` name another file after a chdir()?
bool depends_on_current_folder(const std::string& path);

/// The current folder of this process; empty if the names of `storage` do not depend on one. Error
/// not_found if it was removed.
std::string current_folder(Storage& storage);

/// `path`, below `folder` if it is relative; unchanged if `folder` is empty. Links and ".." stay.
std::string path_below(const std::string& folder, const std::string& path);

}  // namespace sluice::storage
