// A storage for a few of the ranks that share one.
#pragma once

#include <memory>

#include "storage/storage.hpp"

namespace sluice::storage {

/// `inner` (which must outlive it) without its collective calls: files that some of its ranks open
/// together are opened by each for itself.
std::unique_ptr<Storage> make_self_storage(Storage& inner);

}  // namespace sluice::storage
