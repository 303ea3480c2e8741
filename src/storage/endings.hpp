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

/// The record of the writer lease of `path`.
inline std::string lease_path(const std::string& path) { return path + ".sluice-lease"; }

}  // namespace sluice::storage
