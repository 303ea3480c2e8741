#include "exec/write/ring_memory.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "exec/notify/node_memory.hpp"
#include "exec/transport/agree.hpp"
#include "model/bytes.hpp"

namespace sluice::exec {

using storage::SharedMemory;

namespace {

/// As much is made room for at once: what was zeroed should still be in a cache when it is filled.
constexpr std::uint64_t part_bytes = 64 << 10;

}  // namespace

/// What rank 0 has chosen.
struct RingMemory::Choice {
  SharedMemory::Key key;
  Need need;
  bool is_new = false;
};

RingMemory::RingMemory(std::shared_ptr<SharedMemory> memory, std::size_t ranks)
    : PooledMemory(memory->bytes() / ranks), memory_(std::move(memory)) {}

namespace {

/// What is too small makes room for what is large enough.
void drop_idle_rings() {
  StagingPool::of_process().drop(
      [](const PooledMemory& idle) { return dynamic_cast<const RingMemory*>(&idle) != nullptr; });
}

std::uint64_t room_beside_others(std::uint64_t wanted_bytes, std::uint64_t budget_bytes) {
  StagingPool::of_process().make_room(wanted_bytes, budget_bytes);
  return budget_bytes - std::min(budget_bytes, PooledMemory::all_bytes());
}

}  // namespace

/// On rank 0.
std::unique_ptr<RingMemory> RingMemory::choose(const std::function<Need(std::uint64_t)>& fit,
                                               std::uint64_t budget_bytes, std::size_t ranks,
                                               Choice& choice) {
  choice.need = fit(std::numeric_limits<std::uint64_t>::max());
  auto memory = StagingPool::of_process().take<RingMemory>(
      [&](const RingMemory& idle) { return idle.bytes() >= choice.need.bytes; });
  choice.is_new = !memory;
  if (memory) {
    memory->make_room(memory->data(), choice.need.head_bytes);
    std::memset(memory->data(), 0, choice.need.head_bytes);
  } else {
    drop_idle_rings();
    choice.need = fit(room_beside_others(choice.need.bytes / ranks, budget_bytes));
    memory = std::make_unique<RingMemory>(SharedMemory::make(choice.need.bytes), ranks);
  }
  choice.key = memory->memory_->key();
  return memory;
}

std::unique_ptr<RingMemory> RingMemory::share(Transport& transport,
                                              const std::function<Need(std::uint64_t)>& fit,
                                              std::uint64_t budget_bytes, std::uint64_t& slots) {
  const auto ranks = static_cast<std::size_t>(transport.size());
  std::unique_ptr<RingMemory> memory;
  try {
    const auto message = on_root(transport, 0, [&] {
      Choice choice;
      memory = choose(fit, budget_bytes, ranks, choice);
      model::ByteWriter out;
      out.put(choice);
      return out.take();
    });
    const auto choice = model::ByteReader(message).get<Choice>();
    slots = choice.need.slots;
    together(transport, [&] {
      if (!memory && !choice.is_new) {
        memory = StagingPool::of_process().take<RingMemory>(
            [&](const RingMemory& idle) { return idle.memory_->key().nonce == choice.key.nonce; });
      }
      if (!memory) {
        drop_idle_rings();
        memory = std::make_unique<RingMemory>(SharedMemory::attach(choice.key), ranks);
      }
      reserve_part(transport, *memory->memory_,
                   SharedMemory::makes_room_in_parts() ? choice.need.head_bytes : memory->bytes());
    });
  } catch (const Error& e) {
    if (e.code() == Code::timeout || e.code() == Code::mpi) {
      throw;
    }
    return nullptr;
  }
  return memory;
}

void RingMemory::make_room(const void* first, std::uint64_t length) {
  if (length == 0 || !SharedMemory::makes_room_in_parts()) {
    return;
  }
  has_room_.resize((bytes() + part_bytes - 1) / part_bytes);
  const auto at = static_cast<std::uint64_t>(static_cast<const std::byte*>(first) - data());
  for (std::uint64_t part = at / part_bytes; part <= (at + length - 1) / part_bytes; ++part) {
    if (!has_room_[part]) {
      memory_->reserve(part * part_bytes, std::min((part + 1) * part_bytes, bytes()));
      has_room_[part] = true;
    }
  }
}

bool RingMemory::use_huge_page(const void* at) {
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - data());
  const std::uint64_t page = SharedMemory::huge_page_of(offset);
  is_huge_.resize(SharedMemory::huge_page_of(bytes()) + 1);
  if (is_refused_huge_ || is_huge_[page]) {
    return false;
  }
  is_huge_[page] = true;
  is_refused_huge_ = !memory_->use_huge_page(offset);
  return true;
}

}  // namespace sluice::exec
