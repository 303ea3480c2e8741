// HDF5's fletcher32: a checksum behind the bytes.
#include <algorithm>
#include <cstring>

#include "codec/methods.hpp"
#include "codec/shuffle.hpp"

namespace sluice::codec {

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

namespace {

constexpr std::size_t fletcher_bytes = 4;

class Fletcher final : public Worker {
 public:
  std::size_t encode(const Parameters&, std::span<const std::byte> in,
                     std::span<std::byte> out) override {
    if (out.size() < in.size() + fletcher_bytes) {
      return 0;
    }
    std::memcpy(out.data(), in.data(), in.size());
    const std::uint32_t sum = fletcher32(in);
    for (std::size_t i = 0; i < fletcher_bytes; ++i) {
      out[in.size() + i] = static_cast<std::byte>(sum >> (8 * i));
    }
    return in.size() + fletcher_bytes;
  }
  bool decode(const Parameters&, std::span<const std::byte> in, std::span<std::byte> out) override {
    if (in.size() != out.size() + fletcher_bytes) {
      return false;
    }
    std::uint32_t stored = 0;
    for (std::size_t i = 0; i < fletcher_bytes; ++i) {
      stored |= std::to_integer<std::uint32_t>(in[out.size() + i]) << (8 * i);
    }
    const std::uint32_t sum = fletcher32(in.first(out.size()));
    // Big-endian machines of HDF5 before 1.6.3 wrote the bytes of each half in the other order.
    const std::uint32_t swapped = (sum & 0x00ff00ff) << 8 | (sum >> 8 & 0x00ff00ff);
    if (stored != sum && stored != swapped) {
      return false;
    }
    std::memcpy(out.data(), in.data(), out.size());
    return true;
  }
};

}  // namespace

std::optional<Method> fletcher32_method() {
  return Method{"fletcher32", fletcher32_id, false, fletcher_bytes, 1, 1, 1, [] {
                  return std::make_unique<Fletcher>();
                }};
}

}  // namespace sluice::codec
