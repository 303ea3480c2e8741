// Names of files beside a file or store, by the ending of theirs.
#pragma once

#include <string>

namespace sluice::storage {

/// Of a file or object that is made to replace another one, or to appear whole.
inline constexpr const char* new_ending = ".sluice-new";
/// Of a store that is being replaced by another one.
inline constexpr const char* old_ending = ".sluice-old";
/// Of a folder before it takes the name of a store.
inline constexpr const char* begun_ending = ".sluice-begun";
/// Of a folder that is being removed; a crash may leave a part of it.
inline constexpr const char* gone_ending = ".sluice-gone";

/// Of a file that is being built by a command, until it gets its name.
inline constexpr const char* convert_ending = ".sluice-convert";

/// The changes of a commit to `path` that may not be in place yet.
inline std::string journal_path(const std::string& path) { return path + ".sluice-journal"; }
/// What the HDF5 driver holds back of `path` until a commit.
inline std::string held_path(const std::string& path) { return path + ".sluice-held"; }
/// The checksums of the blocks of an HDF5 file.
inline std::string block_table_path(const std::string& path) { return path + ".sluice-checksums"; }
/// The record of the writer lease of `path`.
inline std::string lease_path(const std::string& path) { return path + ".sluice-lease"; }

}  // namespace sluice::storage
