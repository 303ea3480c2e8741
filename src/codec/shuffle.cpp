#include "codec/shuffle.hpp"

#include <algorithm>
#include <cstring>

namespace sluice::codec {

namespace {

/// Elements at a time: their bytes stay in the first cache while every plane takes its own.
constexpr std::size_t block_elements = 1024;

// With the size known to the compiler these loops become vector permutations.
template <std::size_t size>
void split_block(const std::byte* in, std::byte* out, std::size_t count, std::size_t plane_bytes) {
  for (std::size_t b = 0; b < size; ++b) {
    std::byte* const plane = out + b * plane_bytes;
    for (std::size_t i = 0; i < count; ++i) {
      plane[i] = in[i * size + b];
    }
  }
}

template <std::size_t size>
void join_block(const std::byte* in, std::byte* out, std::size_t count, std::size_t plane_bytes) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < size; ++b) {
      out[i * size + b] = in[b * plane_bytes + i];
    }
  }
}

void split_any(const std::byte* in, std::byte* out, std::size_t count, std::size_t plane_bytes,
               std::size_t size) {
  for (std::size_t b = 0; b < size; ++b) {
    for (std::size_t i = 0; i < count; ++i) {
      out[b * plane_bytes + i] = in[i * size + b];
    }
  }
}

void join_any(const std::byte* in, std::byte* out, std::size_t count, std::size_t plane_bytes,
              std::size_t size) {
  for (std::size_t b = 0; b < size; ++b) {
    for (std::size_t i = 0; i < count; ++i) {
      out[i * size + b] = in[b * plane_bytes + i];
    }
  }
}

template <class Block>
void for_each_block(std::size_t elements, Block&& block) {
  for (std::size_t first = 0; first < elements; first += block_elements) {
    block(first, std::min(block_elements, elements - first));
  }
}

void copy_rest(std::span<const std::byte> in, std::size_t elements, std::size_t size,
               std::span<std::byte> out) {
  const std::size_t done = elements * size;
  if (done < in.size()) {
    std::memcpy(out.data() + done, in.data() + done, in.size() - done);
  }
}

}  // namespace

void shuffle(std::span<const std::byte> in, std::size_t element_bytes, std::span<std::byte> out) {
  const std::size_t elements = in.size() / element_bytes;
  for_each_block(elements, [&](std::size_t first, std::size_t count) {
    const std::byte* const from = in.data() + first * element_bytes;
    std::byte* const to = out.data() + first;
    switch (element_bytes) {
      case 2:
        return split_block<2>(from, to, count, elements);
      case 4:
        return split_block<4>(from, to, count, elements);
      case 8:
        return split_block<8>(from, to, count, elements);
      case 16:
        return split_block<16>(from, to, count, elements);
      default:
        return split_any(from, to, count, elements, element_bytes);
    }
  });
  copy_rest(in, elements, element_bytes, out);
}

void unshuffle(std::span<const std::byte> in, std::size_t element_bytes, std::span<std::byte> out) {
  const std::size_t elements = in.size() / element_bytes;
  for_each_block(elements, [&](std::size_t first, std::size_t count) {
    const std::byte* const from = in.data() + first;
    std::byte* const to = out.data() + first * element_bytes;
    switch (element_bytes) {
      case 2:
        return join_block<2>(from, to, count, elements);
      case 4:
        return join_block<4>(from, to, count, elements);
      case 8:
        return join_block<8>(from, to, count, elements);
      case 16:
        return join_block<16>(from, to, count, elements);
      default:
        return join_any(from, to, count, elements, element_bytes);
    }
  });
  copy_rest(in, elements, element_bytes, out);
}

std::uint32_t fletcher32(std::span<const std::byte> bytes) {
  constexpr std::size_t words_without_carry = 360;
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  auto fold = [&] {
    low = (low & 0xffff) + (low >> 16);
    high = (high & 0xffff) + (high >> 16);
  };
  std::size_t at = 0;
  while (at + 1 < bytes.size()) {
    const std::size_t end = std::min(bytes.size() - 1, at + 2 * words_without_carry);
    for (; at < end; at += 2) {
      low += std::to_integer<std::uint32_t>(bytes[at]) << 8 |
             std::to_integer<std::uint32_t>(bytes[at + 1]);
      high += low;
    }
    fold();
  }
  if (at < bytes.size()) {
    low += std::to_integer<std::uint32_t>(bytes[at]) << 8;
    high += low;
    fold();
  }
  fold();
  return high << 16 | low;
}

}  // namespace sluice::codec
