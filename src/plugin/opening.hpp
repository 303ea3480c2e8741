// What is looked at, and settled, before a file is opened for writing.
#pragma once

#include <memory>
#include <string>

#include "plugin/settings.hpp"
#include "sluice/error.hpp"
#include "storage/storage.hpp"

namespace sluice::plugin {

/// Keeps out HDF5 programs without the driver that write the file, not those that read it. Error
/// locked where one is there already.
void share_lock(storage::File& file, const Settings& settings);

/// The file at `path` where it is there and empty: a new file is written into it, for programs that
/// have it open (a temporary file), and where it cannot be replaced (a mount of a single file).
/// Null where there is none, or a journal. With share_lock(), taken before it is looked at: a
/// program without the driver may be about to fill it.
std::unique_ptr<storage::File> open_empty(storage::Storage& storage, const std::string& path,
                                          const Settings& settings);

/// Of an exclusive create. h5py with mode "a" makes a file where it could not open one, and shows
/// only this error.
Error is_there_already(const std::string& path);

/// Before a new file is made. Errors: exists with `exclusive`; those of opening what is there for
/// writing: whoever may not write it may not replace it either.
void require_replaceable(storage::Storage& storage, const std::string& path,
                         const Settings& settings, bool exclusive);

/// To change a file, under its lease: does what a crash left undone. `there` was opened before:
/// the last holder of the lease may have replaced the file since, then it is opened anew. Error
/// damaged.
std::unique_ptr<storage::File> recover_changed(storage::Storage& storage, const std::string& path,
                                               const Settings& settings,
                                               std::unique_ptr<storage::File> there);

/// Of a file that a new one will replace: it must be whole for as long as a crash may leave it.
void recover_replaced(storage::Storage& storage, const std::string& path);

}  // namespace sluice::plugin
