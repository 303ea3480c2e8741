// A file that is there whole or not at all, without a journal.
#pragma once

#include <functional>
#include <string>

#include "sluice/error.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// Lets `fill` write a file under a temporary name beside `path`, then renames it to `path`,
/// replacing what was there, whose permissions it gets. Of a symbolic link the target is replaced.
/// Where anything fails the temporary file is removed, `path` is as it was, and the error goes on.
/// To be durable, `fill` syncs the file and the caller the folder. Local.
void write_atomically(storage::Storage& storage, const std::string& path,
                      const std::function<void(storage::File&)>& fill);

/// `e`, of a rename that took place and may or may not be durable.
Error in_doubt(const Error& e);

/// Gives the file at `building`, which is complete, the name `path`; the journal of a file that is
/// replaced goes before, with `synced` durably, so that it never comes back beside the new one. The
/// folder is not synced afterwards. Returns whether a file was replaced.
bool take_name(storage::Storage& storage, const std::string& building, const std::string& path,
               bool synced);
/// After take_name() of a file that replaced nothing, where the folder could not be synced.
/// `present` becomes `building` where the file is called so again. False: a crash decides what it
/// is called.
bool take_name_back(storage::Storage& storage, const std::string& building, const std::string& path,
                    std::string& present) noexcept;

/// Where the file for `path` is built until it has its name.
std::string building_path(const std::string& path);
/// The same; what stands there is removed, as one that a dead run left (of a symbolic link the
/// link).
std::string fresh_building_path(storage::Storage& storage, const std::string& path);
/// Removes it where it can: the next attempt replaces what is left.
void forget_building(storage::Storage& storage, const std::string& path) noexcept;

}  // namespace sluice::commit
