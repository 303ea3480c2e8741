// Whether a path still leads to a file that was opened by it.
#pragma once

#include <string>

#include "storage/storage.hpp"

namespace sluice::storage {

/// Is the file at `path`, which is no symbolic link, the one that File::identity() called
/// `identity`? Where the storage does not tell files apart: is there any file?
bool is_at(Storage& storage, const std::string& path, const FileIdentity& identity);

/// Error changed_outside of a file that is not at its path any more. `remedy` is the end of its
/// text.
Error moved_error(const std::string& path, const std::string& remedy);

}  // namespace sluice::storage
