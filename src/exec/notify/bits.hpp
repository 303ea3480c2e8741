// A bit for each byte of a window.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::exec {

/// First position at or after `at` whose bit is `wanted`; `end` if there is none before it.
std::uint64_t find_bit(const std::uint64_t* words, bool wanted, std::uint64_t at,
                       std::uint64_t end);

class Bits {
 public:
  explicit Bits(std::uint64_t size = 0) : words_((size + word_bits - 1) / word_bits), size_(size) {}
  std::uint64_t size() const noexcept { return size_; }
  void clear();
  /// Sets [at, at + length); length 0 sets nothing.
  void set(std::uint64_t at, std::uint64_t length);
  /// As find_bit.
  std::uint64_t find(bool wanted, std::uint64_t at, std::uint64_t end) const {
    return find_bit(words_.data(), wanted, at, end);
  }

 private:
  static constexpr std::uint64_t word_bits = 64;
  std::vector<std::uint64_t> words_;
  std::uint64_t size_;
};

}  // namespace sluice::exec
