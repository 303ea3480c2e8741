// A storage for some of the ranks that share one.
#pragma once

#include <memory>

#include "storage/storage.hpp"

namespace sluice::storage {

/// `inner` (which must outlive it) without its collective calls: if some ranks open a file
/// together, each opens it independently.
std::unique_ptr<Storage> make_self_storage(Storage& inner);

}  // namespace sluice::storage
