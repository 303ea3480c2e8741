// What is looked at, and settled, before a file is opened for writing.
#pragma once

#include <string>

#include "plugin/settings.hpp"
#include "storage/storage.hpp"

namespace sluice::plugin {

/// Keeps out HDF5 programs without the driver that write the file, not those that read it. Error
/// locked where one is there already.
void share_lock(storage::File& file, const Settings& settings);

/// Of a file that a new one will replace: it must be whole for as long as a crash may leave it.
void recover_replaced(storage::Storage& storage, const std::string& path);

}  // namespace sluice::plugin
