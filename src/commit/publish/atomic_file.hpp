// Creates a file that appears whole or not at all, without a journal.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sluice/error.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// What becomes of a file that has the name already.
enum class Naming : std::uint8_t {
  replace,
  refuse,  ///< Error exists, and nothing has changed; also of one that appears at that moment
};

/// Error exists, for Mode::create: something has the name `path`. `is_replaceable`: Mode::write
/// would replace it.
Error taken_error(const std::string& path, bool is_replaceable = true);

/// Lets `fill` write a file under a temporary name beside `path`, then renames it to `path`,
/// replacing an existing file, whose permissions it gets. If `path` is a symbolic link, its target
/// is replaced. On failure the temporary file is removed, `path` is unchanged, and the error is
/// rethrown. To be durable, `fill` syncs the file and the caller the folder. Local.
void write_atomically(storage::Storage& storage, const std::string& path,
                      const std::function<void(storage::File&)>& fill,
                      Naming naming = Naming::replace);

/// `e`, for a rename that succeeded and may or may not be durable.
Error in_doubt(const Error& e);

/// Gives the file at `building`, which is complete, the name `path`; the journal of a file that is
/// replaced goes before, with `synced` durably, so that it never comes back beside the new one. The
/// folder is not synced afterwards. Returns whether a file was replaced.
bool take_name(storage::Storage& storage, const std::string& building, const std::string& path,
               bool synced, Naming naming = Naming::replace);
/// After take_name() of a file that replaced nothing, if the folder could not be synced. `present`
/// becomes `building` if the file was renamed back. False: a crash decides its name.
bool take_name_back(storage::Storage& storage, const std::string& building, const std::string& path,
                    std::string& present) noexcept;

/// Path of the file for `path` until it has its name.
std::string building_path(const std::string& path);
/// The same; an existing file there, left by a run that died, is removed (if it is a symbolic link,
/// the link).
std::string fresh_building_path(storage::Storage& storage, const std::string& path);
/// `error`, with `name` where its text names the file `building`, which is no more.
Error naming(const Error& error, const std::string& building, const std::string& name);
/// Removes it if possible: the next attempt replaces what is left.
void forget_building(storage::Storage& storage, const std::string& path) noexcept;

}  // namespace sluice::commit
