// Whether a path still leads to a file that was opened by it.
#pragma once

#include <optional>
#include <string>

#include "storage/storage.hpp"

namespace sluice::storage {

/// Of what has the name `path`, also if it is a symbolic link; empty: nothing. Asks for no more
/// than that: an NFS client that is asked for sizes or times writes back first what it has of the
/// file.
std::optional<FileIdentity> identity_at(const std::string& path);

/// Is the file at `path`, which is no symbolic link, the one that File::identity() called
/// `identity`? Where the storage does not tell files apart: is there any file?
bool is_at(Storage& storage, const std::string& path, const FileIdentity& identity);

/// Error changed_outside of a file that is not at its path any more. `remedy` is the end of its
/// text.
Error moved_error(const std::string& path, const std::string& remedy);

}  // namespace sluice::storage
