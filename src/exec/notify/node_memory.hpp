// Memory shared by all ranks of a transport.
#pragma once

#include <cstdint>
#include <memory>

#include "exec/transport/transport.hpp"
#include "storage/shared_memory.hpp"

namespace sluice::exec {

/// Collective over all ranks, which must be on one node. Zeroed; its first `reserved_bytes` may be
/// touched. nullptr on every rank if there is no memory for those, or one rank cannot attach to it.
std::unique_ptr<storage::SharedMemory> share_on_node(Transport& transport, std::uint64_t bytes,
                                                     std::uint64_t reserved_bytes);

/// By every rank: makes room for its part of the first `bytes`, for zeroing takes longer than
/// anything else here. Error no_space.
void reserve_part(const Transport& transport, storage::SharedMemory& memory, std::uint64_t bytes);

}  // namespace sluice::exec
