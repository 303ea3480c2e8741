// HDF5's byte shuffle: first all lowest bytes of the elements, then all second ones, and so on.
// What is left behind the last whole element stays at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::codec {

/// `out` is as long as `in` and does not overlap it; `element_bytes` at least 1.
void shuffle(std::span<const std::byte> in, std::size_t element_bytes, std::span<std::byte> out);
void unshuffle(std::span<const std::byte> in, std::size_t element_bytes, std::span<std::byte> out);
/// Of bits: first the lowest bit of every element, then the second ones, and so on, eight in a
/// byte. A multiple of 8 elements.
void unshuffle_bits(std::span<const std::byte> in, std::size_t element_bytes,
                    std::span<std::byte> out);

/// HDF5's fletcher32 of some bytes.
std::uint32_t fletcher32(std::span<const std::byte> bytes);

}  // namespace sluice::codec
