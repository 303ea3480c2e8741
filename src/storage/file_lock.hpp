// The lock of a file that is being written, by which programs that know nothing of a writer lease
// keep out: HDF5 without the driver locks exclusively what it opens for writing.
#pragma once

#include <string>

#include "storage/storage.hpp"

namespace sluice::storage {

/// Are files locked, as HDF5 decides it? HDF5_USE_FILE_LOCKING says so; where it does not, `asked`
/// does.
bool locks_files(bool asked = true);

/// File::share_lock(), unless `is_wanted` is false. Error locked, which says who has it, where
/// another program has locked the file for writing.
void require_share_lock(File& file, bool is_wanted = locks_files());

/// "another program", or its name and number where /proc/locks lists it as the holder of an
/// exclusive lock of the file.
std::string lock_holder(const FileIdentity& identity);

}  // namespace sluice::storage
