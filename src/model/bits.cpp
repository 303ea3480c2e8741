#include "model/bits.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

namespace sluice::model {

namespace {

/// Calls set_word(number, mask), with a full mask for the words between the first and the last.
template <class SetWord>
void for_each_word(std::uint64_t at, std::uint64_t length, SetWord&& set_word) {
  if (length == 0) {
    return;
  }
  const std::uint64_t end = at + length;
  const std::uint64_t first = at / word_bits;
  const std::uint64_t last = (end - 1) / word_bits;
  const std::uint64_t head = ~std::uint64_t{0} << (at % word_bits);
  const std::uint64_t tail = ~std::uint64_t{0} >> ((word_bits - end % word_bits) % word_bits);
  if (first == last) {
    set_word(first, head & tail);
    return;
  }
  set_word(first, head);
  for (std::uint64_t word = first + 1; word < last; ++word) {
    set_word(word, ~std::uint64_t{0});
  }
  set_word(last, tail);
}

}  // namespace

std::uint64_t find_bit(const std::uint64_t* words, bool wanted, std::uint64_t at,
                       std::uint64_t end) {
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

void set_bits(std::uint64_t* words, std::uint64_t at, std::uint64_t length) {
  for_each_word(at, length, [&](std::uint64_t word, std::uint64_t mask) { words[word] |= mask; });
}

void set_bits_shared(std::uint64_t* words, std::uint64_t at, std::uint64_t length) {
  for_each_word(at, length, [&](std::uint64_t word, std::uint64_t mask) {
    std::atomic_ref shared(words[word]);
    if (mask == ~std::uint64_t{0}) {
      shared.store(mask, std::memory_order_release);
    } else {
      shared.fetch_or(mask, std::memory_order_release);
    }
  });
}

void Bits::set(std::uint64_t at, std::uint64_t length) {
  const std::uint64_t words = (at + length + word_bits - 1) / word_bits;
  if (length != 0 && words > words_.size()) {
    words_.resize(words);
  }
  set_bits(words_.data(), at, length);
}

std::uint64_t Bits::find(bool wanted, std::uint64_t at, std::uint64_t end) const {
  const std::uint64_t held = std::min(end, words_.size() * word_bits);
  if (at < held) {
    at = find_bit(words_.data(), wanted, at, held);
  }
  return wanted && at >= held ? end : at;
}

}  // namespace sluice::model
