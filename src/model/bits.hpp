// Sets of bits in words of 64: one for each byte of a window, or for each granule of it.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::model {

inline constexpr std::uint64_t word_bits = 64;

/// First position at or after `at` whose bit is `wanted`; `end` if there is none before it.
std::uint64_t find_bit(const std::uint64_t* words, bool wanted, std::uint64_t at,
                       std::uint64_t end);
/// Sets [at, at + length); length 0 sets nothing.
void set_bits(std::uint64_t* words, std::uint64_t at, std::uint64_t length);
/// The same where others set other bits of the same words meanwhile; what was written before is
/// visible to who finds them.
void set_bits_shared(std::uint64_t* words, std::uint64_t at, std::uint64_t length);

/// A set of any length. Memory is held, cleared and looked at only as far as bits were set: a
/// window may hold megabytes and a step a few KiB. Not for several threads, unless none sets.
class Bits {
 public:
  void clear() { words_.clear(); }
  /// As set_bits.
  void set(std::uint64_t at, std::uint64_t length);
  /// As find_bit.
  std::uint64_t find(bool wanted, std::uint64_t at, std::uint64_t end) const;

 private:
  std::vector<std::uint64_t> words_;  ///< all bits behind them are clear
};

}  // namespace sluice::model
