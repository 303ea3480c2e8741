// A bit for each byte of a window, of any length. Memory is held, cleared and looked at only as far
// as bits were set: a window may hold megabytes and a step a few KiB.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::exec {

/// First position at or after `at` whose bit is `wanted`; `end` if there is none before it.
std::uint64_t find_bit(const std::uint64_t* words, bool wanted, std::uint64_t at,
                       std::uint64_t end);

/// Not for several threads, unless none sets.
class Bits {
 public:
  void clear() { words_.clear(); }
  /// Sets [at, at + length); length 0 sets nothing.
  void set(std::uint64_t at, std::uint64_t length);
  /// As find_bit.
  std::uint64_t find(bool wanted, std::uint64_t at, std::uint64_t end) const;

 private:
  static constexpr std::uint64_t word_bits = 64;
  std::vector<std::uint64_t> words_;  ///< all bits behind them are clear
};

}  // namespace sluice::exec
