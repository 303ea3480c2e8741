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

/// Where the file for `path` is built until it has its name.
std::string building_path(const std::string& path);
/// The same; one that a dead run left there is removed.
std::string fresh_building_path(storage::Storage& storage, const std::string& path);
/// Removes it where it can: the next attempt replaces what is left.
void forget_building(storage::Storage& storage, const std::string& path) noexcept;

}  // namespace sluice::commit
