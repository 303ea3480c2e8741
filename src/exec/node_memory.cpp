#include "exec/node_memory.hpp"

#include <exception>

#include "exec/agree.hpp"
#include "model/bytes.hpp"

namespace sluice::exec {

std::unique_ptr<storage::SharedMemory> share_on_node(Transport& transport, std::uint64_t bytes) {
  using storage::SharedMemory;
  std::unique_ptr<SharedMemory> memory;
  try {
    const auto message = on_root(transport, 0, [&] {
      memory = SharedMemory::make(bytes);
      model::ByteWriter out;
      out.put(memory->key());
      return out.take();
    });
    together(transport, [&] {
      if (!memory) {
        memory = SharedMemory::attach(model::ByteReader(message).get<SharedMemory::Key>());
      }
    });
  } catch (const Error& e) {
    if (e.code() == Code::timeout || e.code() == Code::mpi) {
      throw;
    }
    return nullptr;
  }
  return memory;
}

}  // namespace sluice::exec
