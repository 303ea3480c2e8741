// In which slot of a ring each window of a writer lies: a list in memory that all ranks see.
//
// Invariants: of `slots` windows in a row each has at most one slot, which it keeps until free();
// the slot that was freed last is given next, and one that was never used only where no other is
// free, so that no more memory is touched than is in use at once; zeroed memory is a ring of which
// nothing was used. Nobody locks: a rank that dies in the middle takes at most one slot with it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace sluice::exec {

class RingSlots {
 public:
  /// Memory for `slots`, which is aligned to 64 bytes.
  static std::uint64_t bytes(std::uint64_t slots);
  RingSlots(std::byte* memory, std::uint64_t slots);

  /// The slot of window `number`, if it has one.
  std::optional<std::uint32_t> find(std::uint64_t number) const;
  /// The same; gives it one if it has none, after `prepare(slot)`, which may throw. nullopt where
  /// others hold for a moment what is free: ask again. All but the last `slots` windows before it
  /// must be freed.
  std::optional<std::uint32_t> claim(std::uint64_t number,
                                     const std::function<void(std::uint32_t)>& prepare);
  /// By the writer, once for each window that has a slot.
  void free(std::uint32_t slot);
  /// Bytes of the slot's marks that were cleared; changed by who prepares the slot.
  std::atomic<std::uint32_t>& cleared_bytes(std::uint32_t slot) const;

 private:
  struct Head;
  std::optional<std::uint32_t> pop();
  void push(std::uint32_t slot);
  std::atomic<std::uint64_t>& entry(std::uint64_t number) const;

  Head* head_;
  std::atomic<std::uint64_t>* entries_;  ///< of the window number modulo slots: who lies where
  std::atomic<std::uint32_t>* next_;     ///< of a free slot: the one that was freed before, plus 1
  std::atomic<std::uint32_t>* cleared_;
  std::uint64_t slots_;
};

}  // namespace sluice::exec
