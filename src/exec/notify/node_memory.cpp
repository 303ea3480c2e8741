#include "exec/notify/node_memory.hpp"

#include <algorithm>

#include "exec/transport/agree.hpp"
#include "model/bytes.hpp"

namespace sluice::exec {

namespace {

/// The part that one rank reserves.
constexpr std::uint64_t reserve_unit_bytes = 64 << 10;

}  // namespace

void reserve_part(const Transport& transport, storage::SharedMemory& memory, std::uint64_t bytes) {
  if (!storage::SharedMemory::makes_room_in_parts()) {
    memory.reserve(0, transport.rank() == 0 ? bytes : 0);  // concurrent calls would wait for each
                                                           // other
    return;
  }
  const auto ranks = static_cast<std::uint64_t>(transport.size());
  const auto rank = static_cast<std::uint64_t>(transport.rank());
  const std::uint64_t units = (bytes + reserve_unit_bytes - 1) / reserve_unit_bytes;
  const auto end_of = [&](std::uint64_t parts) {
    return std::min(bytes, units * parts / ranks * reserve_unit_bytes);
  };
  memory.reserve(end_of(rank), end_of(rank + 1));
}

std::unique_ptr<storage::SharedMemory> share_on_node(Transport& transport, std::uint64_t bytes,
                                                     std::uint64_t reserved_bytes) {
  using storage::SharedMemory;
  std::unique_ptr<SharedMemory> memory;
  try {
    auto message = on_root(transport, [&](model::ByteWriter& out) {
      memory = SharedMemory::make(bytes);
      out.put(memory->key());
    });
    together(transport, [&] {
      if (!memory) {
        memory = SharedMemory::attach(message.get<SharedMemory::Key>());
      }
      reserve_part(transport, *memory, reserved_bytes);
    });
  } catch (const Error& e) {
    if (ranks_unreachable(e)) {
      throw;
    }
    return nullptr;
  }
  return memory;
}

}  // namespace sluice::exec
