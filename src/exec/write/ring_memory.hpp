// The memory of a ring, as one rank has it; it outlives the ring in the pool of the process.
//
// Invariants: a rank touches only what it has made room for; every rank keeps its own mapping, and
// memory is given back to the system when the last of them is. It is of one ring at a time: the
// ranks that share a ring may be others than those that shared the last one, and each of those has
// the memory, idle in its pool. So it is chosen again only when all of them have left it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "exec/transport/transport.hpp"
#include "exec/write/staging.hpp"
#include "storage/own_process.hpp"
#include "storage/shared_memory.hpp"

namespace sluice::exec {

class RingMemory final : public PooledMemory {
 public:
  /// `ranks`: that share it.
  RingMemory(std::shared_ptr<storage::SharedMemory> memory, std::size_t ranks);
  ~RingMemory() override { leave(); }

  /// What a ring needs of it.
  struct Need {
    std::uint64_t slots = 0;
    std::uint64_t bytes = 0;
    std::uint64_t head_bytes = 0;  ///< that are zero at first
  };
  /// Collective over all ranks, which must be of one node: memory for what rank 0 needs, idle one
  /// before new one. `fit`: the need, of new memory where a rank has room for so many bytes only.
  /// The head may be touched; where room cannot be made in parts, all of it. `slots`: what was
  /// needed at last. nullptr on every rank where there is no room, or one cannot reach it.
  static std::unique_ptr<RingMemory> share(Transport& transport,
                                           const std::function<Need(std::uint64_t)>& fit,
                                           std::uint64_t budget_bytes, std::uint64_t& slots);

  std::byte* data() const noexcept { return memory_->data(); }
  std::uint64_t bytes() const noexcept { return memory_->bytes(); }
  /// By one thread of the rank: memory [first, first + length) may be touched. Error no_space.
  void make_room(const void* first, std::uint64_t length);
  /// Does make_room() use whole huge pages from here on, where there are any? The disk takes long
  /// writes from them sooner, and to make room takes less time.
  void prefer_huge_pages(bool does) noexcept { prefers_huge_ = does; }
  /// This rank does not use it any more: the last of them lets another ring have it.
  void leave() noexcept;

 private:
  struct Choice;
  void make_room_for_part(std::size_t part);
  static std::unique_ptr<RingMemory> choose(const std::function<Need(std::uint64_t)>& fit,
                                            std::uint64_t budget_bytes, std::size_t ranks,
                                            Choice& choice);

  const std::shared_ptr<storage::SharedMemory> memory_;
  std::vector<bool> has_room_;  ///< by parts
  bool prefers_huge_ = false;
  bool is_used_ = false;  ///< counted by SharedMemory::claim()
  const storage::OwnProcess process_;
};

}  // namespace sluice::exec
