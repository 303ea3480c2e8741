// Copies of shared libraries that belong to this process alone, for libraries that are loaded once
// more although the process may have them already.
#pragma once

#include <string>
#include <vector>

namespace sluice::storage {

/// The path of a copy in memory, by which the loader finds it as long as the process lives; "" if
/// there is no memory for files. Error format if it is no whole library; io, not_found, ... of
/// `path`.
std::string private_copy(const std::string& path);

/// The regular files of a folder whose names end in `ending`, as paths in the order of their names.
/// If the folder cannot be listed, `why_not` is a reason; otherwise it is not changed.
std::vector<std::string> files_ending_in(const std::string& folder, const std::string& ending,
                                         std::string& why_not);

}  // namespace sluice::storage
