// Writes what the command makes in one piece: pictures, pages, settings.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "storage/storage.hpp"
#include "verb.hpp"

namespace sluice::cli {

/// Collective. The name of the file that becomes `to`, for LeftToParent; empty on other ranks than
/// 0.
std::string unfinished_path(const Context& context, const std::string& to);

/// Error exists if `path` does, unsupported if it is in an object store.
void require_new(storage::Storage& storage, const std::string& path);

/// A file that must not exist, of rank 0 alone: it takes its name when all `bytes` are written, and
/// is removed if they cannot be. Errors of require_new().
void write_new_file(storage::Storage& storage, const std::string& path,
                    std::span<const std::byte> bytes);

}  // namespace sluice::cli
