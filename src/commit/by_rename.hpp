// A file that is there whole or not at all, without a journal.
#pragma once

#include <functional>
#include <string>

#include "storage/storage.hpp"

namespace sluice::commit {

/// Lets `fill` write a file under a temporary name beside `path`, then renames it to `path`,
/// replacing what was there. Where anything fails the temporary file is removed, `path` is as it
/// was, and the error goes on. To be durable, `fill` syncs the file and the caller the folder.
/// Local.
void write_by_rename(storage::Storage& storage, const std::string& path,
                     const std::function<void(storage::File&)>& fill);

/// Where the file for `path` is built until it has its name; one that a dead run left is removed.
std::string fresh_building_path(storage::Storage& storage, const std::string& path);

}  // namespace sluice::commit
