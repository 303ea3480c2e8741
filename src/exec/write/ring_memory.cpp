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
  const auto users = static_cast<std::uint32_t>(ranks);
  auto memory = StagingPool::of_process().take<RingMemory>([&](const RingMemory& idle) {
    return idle.bytes() >= choice.need.bytes && idle.memory_->claim(users);
  });
  choice.is_new = !memory;
  if (memory) {
    memory->make_room(memory->data(), choice.need.head_bytes);
    std::memset(memory->data(), 0, choice.need.head_bytes);
  } else {
    drop_idle_rings();
    choice.need = fit(room_beside_others(choice.need.bytes / ranks, budget_bytes));
    memory = std::make_unique<RingMemory>(SharedMemory::make(choice.need.bytes), ranks);
    memory->memory_->claim(users);
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
    auto message = on_root(transport, [&](model::ByteWriter& out) {
      Choice choice;
      memory = choose(fit, budget_bytes, ranks, choice);
      out.put(choice);
    });
    const auto choice = message.get<Choice>();
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
      memory->is_used_ = true;
      reserve_part(transport, *memory->memory_,
                   SharedMemory::makes_room_in_parts() ? choice.need.head_bytes : memory->bytes());
    });
  } catch (const Error& e) {
    if (ranks_unreachable(e)) {
      throw;
    }
    return nullptr;
  }
  return memory;
}

void RingMemory::leave() noexcept {
  if (std::exchange(is_used_, false) && process_.is_here()) {
    memory_->leave();
  }
}

void RingMemory::make_room(const void* first, std::uint64_t length) {
  if (length == 0 || !SharedMemory::makes_room_in_parts()) {
    return;
  }
  has_room_.resize((SharedMemory::header_bytes + bytes()) / part_bytes + 1);
  const auto at = SharedMemory::header_bytes +
                  static_cast<std::uint64_t>(static_cast<const std::byte*>(first) - data());
  for (std::uint64_t part = at / part_bytes; part <= (at + length - 1) / part_bytes; ++part) {
    if (!has_room_[part]) {
      make_room_for_part(part);
    }
  }
}

/// Parts are counted from the header on, so that a huge page consists of whole ones.
void RingMemory::make_room_for_part(std::size_t part) {
  constexpr std::uint64_t header = SharedMemory::header_bytes;
  constexpr std::size_t in_huge = SharedMemory::huge_page_bytes / part_bytes;
  const std::uint64_t first = std::max(part * part_bytes, header) - header;
  const bool is_huge = prefers_huge_ && memory_->reserve_huge_page(first);
  const std::size_t begin = is_huge ? part / in_huge * in_huge : part;
  const std::size_t end = is_huge ? begin + in_huge : part + 1;
  if (!is_huge) {
    memory_->reserve(first, std::min(end * part_bytes - header, bytes()));
  }
  std::fill(has_room_.begin() + static_cast<std::ptrdiff_t>(begin),
            has_room_.begin() + static_cast<std::ptrdiff_t>(end), true);
}

}  // namespace sluice::exec
