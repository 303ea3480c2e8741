#include "exec/write/ring_slots.hpp"

namespace sluice::exec {

struct alignas(64) RingSlots::Head {
  std::atomic<std::uint64_t> top;     ///< of the free ones: a count of changes, and slot plus 1
  std::atomic<std::uint64_t> unused;  ///< slots from here on were never given
};

namespace {

constexpr std::uint64_t slot_bits = 24;
constexpr std::uint64_t slot_mask = (std::uint64_t{1} << slot_bits) - 1;

std::uint64_t entry_of(std::uint64_t number, std::uint32_t slot) {
  return (number + 1) << slot_bits | slot;
}

bool is_of(std::uint64_t entry, std::uint64_t number) {
  return entry >> slot_bits == (number + 1) << slot_bits >> slot_bits;
}

std::uint32_t slot_in(std::uint64_t entry) { return static_cast<std::uint32_t>(entry & slot_mask); }

template <class Word>
Word* words_at(std::byte* at) {
  static_assert(Word::is_always_lock_free);
  return reinterpret_cast<Word*>(at);
}

}  // namespace

std::uint64_t RingSlots::bytes(std::uint64_t slots) {
  const std::uint64_t words = slots * (sizeof(*entries_) + sizeof(*next_) + sizeof(*cleared_));
  return sizeof(Head) + (words + 63) / 64 * 64;
}

RingSlots::RingSlots(std::byte* memory, std::uint64_t slots)
    : head_(reinterpret_cast<Head*>(memory)),
      entries_(words_at<std::atomic<std::uint64_t>>(memory + sizeof(Head))),
      next_(
          words_at<std::atomic<std::uint32_t>>(memory + sizeof(Head) + slots * sizeof(*entries_))),
      cleared_(next_ + slots),
      slots_(slots) {}

std::atomic<std::uint64_t>& RingSlots::entry(std::uint64_t number) const {
  return entries_[number % slots_];
}

std::optional<std::uint32_t> RingSlots::find(std::uint64_t number) const {
  const std::uint64_t there = entry(number).load(std::memory_order_acquire);
  return is_of(there, number) ? std::optional(slot_in(there)) : std::nullopt;
}

std::optional<std::uint32_t> RingSlots::claim(std::uint64_t number,
                                              const std::function<void(std::uint32_t)>& prepare) {
  std::uint64_t there = entry(number).load(std::memory_order_acquire);
  if (is_of(there, number)) {
    return slot_in(there);
  }
  const std::optional<std::uint32_t> slot = pop();
  if (!slot) {
    return std::nullopt;
  }
  try {
    prepare(*slot);
  } catch (...) {
    push(*slot);
    throw;
  }
  if (entry(number).compare_exchange_strong(there, entry_of(number, *slot),
                                            std::memory_order_acq_rel)) {
    return slot;
  }
  push(*slot);  // another rank was faster
  return slot_in(there);
}

void RingSlots::free(std::uint32_t slot) { push(slot); }

std::atomic<std::uint32_t>& RingSlots::cleared_bytes(std::uint32_t slot) const {
  return cleared_[slot];
}

std::optional<std::uint32_t> RingSlots::pop() {
  std::uint64_t top = head_->top.load(std::memory_order_acquire);
  while ((top & slot_mask) != 0) {
    const auto slot = static_cast<std::uint32_t>((top & slot_mask) - 1);
    const std::uint64_t below = next_[slot].load(std::memory_order_relaxed);
    const std::uint64_t changed = ((top >> slot_bits) + 1) << slot_bits | below;
    if (head_->top.compare_exchange_weak(top, changed, std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
      return slot;
    }
  }
  std::uint64_t unused = head_->unused.load(std::memory_order_relaxed);
  while (unused < slots_) {
    if (head_->unused.compare_exchange_weak(unused, unused + 1, std::memory_order_relaxed)) {
      return static_cast<std::uint32_t>(unused);
    }
  }
  return std::nullopt;
}

void RingSlots::push(std::uint32_t slot) {
  std::uint64_t top = head_->top.load(std::memory_order_relaxed);
  std::uint64_t changed = 0;
  do {
    next_[slot].store(static_cast<std::uint32_t>(top & slot_mask), std::memory_order_relaxed);
    changed = ((top >> slot_bits) + 1) << slot_bits | (std::uint64_t{slot} + 1);
  } while (!head_->top.compare_exchange_weak(top, changed, std::memory_order_acq_rel,
                                             std::memory_order_relaxed));
}

}  // namespace sluice::exec
