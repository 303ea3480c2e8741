#include "exec/notify/bits.hpp"

#include <algorithm>
#include <bit>

namespace sluice::exec {

void Bits::set(std::uint64_t at, std::uint64_t length) {
  if (length == 0) {
    return;
  }
  const std::uint64_t end = at + length;
  const std::uint64_t first = at / word_bits;
  const std::uint64_t last = (end - 1) / word_bits;
  if (last >= words_.size()) {
    words_.resize(last + 1);
  }
  const std::uint64_t head = ~std::uint64_t{0} << (at % word_bits);
  const std::uint64_t tail = ~std::uint64_t{0} >> ((word_bits - end % word_bits) % word_bits);
  if (first == last) {
    words_[first] |= head & tail;
    return;
  }
  words_[first] |= head;
  std::fill(words_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
            words_.begin() + static_cast<std::ptrdiff_t>(last), ~std::uint64_t{0});
  words_[last] |= tail;
}

std::uint64_t Bits::find(bool wanted, std::uint64_t at, std::uint64_t end) const {
  const std::uint64_t held = std::min(end, words_.size() * word_bits);
  if (at < held) {
    at = find_bit(words_.data(), wanted, at, held);
  }
  return wanted && at >= held ? end : at;
}

std::uint64_t find_bit(const std::uint64_t* words, bool wanted, std::uint64_t at,
                       std::uint64_t end) {
  constexpr std::uint64_t word_bits = 64;
  while (at < end) {
    const std::uint64_t word = wanted ? words[at / word_bits] : ~words[at / word_bits];
    const std::uint64_t rest = word >> (at % word_bits);
    if (rest != 0) {
      return std::min(end, at + static_cast<std::uint64_t>(std::countr_zero(rest)));
    }
    at += word_bits - at % word_bits;
  }
  return end;
}

}  // namespace sluice::exec
