// Files and stores of every format at a path: storage/store with the manifests of the formats.
#pragma once

#include <memory>
#include <string>

#include "layout/format.hpp"
#include "storage/store.hpp"

namespace sluice::layout {

/// Also of a version that can only be read.
bool is_store(storage::Storage& storage, const std::string& path);
/// Creates the folder of a store of `format`; the rest as storage::begin_store().
void begin_store(storage::Storage& storage, const std::string& path, const Format& format,
                 bool synced);
bool is_put_aside(storage::Storage& storage, const std::string& path);
void restore_store(storage::Storage& storage, const std::string& path);
void give_up_store(storage::Storage& storage, const std::string& path);
/// The file at `path`, or the store. `storage` must outlive a store. Error unsupported for writing
/// to one of a version that can only be read.
std::unique_ptr<storage::File> open_data(storage::Storage& storage, const std::string& path,
                                         storage::Access access);

}  // namespace sluice::layout
