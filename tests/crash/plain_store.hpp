// A Zarr store as another program sees it: its documents as JSON, and every chunk that they name.
// Shares nothing with the reader of src/layout/zarr but the checksum of a shard's index.
#pragma once

#include <optional>
#include <string>

#include "crash/snapshot.hpp"
#include "support/memory_storage.hpp"

namespace sluice::test {

/// Is there a store with a root document?
bool is_store_there(storage::MemoryStorage& storage, const std::string& path);

/// Empty if there is no root document. An exception if a document or a chunk is damaged.
std::optional<Snapshot> plain_store_snapshot(const storage::MemoryStorage& storage,
                                             const std::string& path);

/// The first document of an array or a group that disagrees with the root; "" if none does.
std::string stale_document(storage::MemoryStorage& storage, const std::string& path);

}  // namespace sluice::test
