// The command's storage: files of the operating system, and what lies in object stores, to read.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "storage/storage.hpp"

namespace sluice::storage {

/// As make_posix() but for addresses such as "s3://bucket/prefix", which are read from there. What
/// changes them is Error unsupported. `timeout_s`: of a call of the library, 0: no limit; it is
/// asked before the first of them. A request that is tried again for some seconds is told on
/// stderr.
std::shared_ptr<Storage> make_by_path(std::function<double()> timeout_s);
/// Of all objects below the folder `path`, by a listing; empty where that is not in an object
/// store.
std::optional<std::uint64_t> bytes_of_objects(Storage& storage, const std::string& path);

}  // namespace sluice::storage
