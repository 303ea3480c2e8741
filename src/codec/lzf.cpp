// LZF as h5py writes it (compression="lzf", filter 32000); only read. No plugin of HDF5 has it.
//
// A byte below 32 is one less than the number of literals behind it. Another begins a repetition:
// its upper 3 bits, and the next byte if all of them are set, are the length less 2; its lower 5
// bits and the byte behind are the distance less 1.
#include <memory>

#include "codec/methods.hpp"
#include "codec/unpacker.hpp"

namespace sluice::codec {

namespace {

bool decode_lzf(std::span<const std::byte> in, std::span<std::byte> out) {
  constexpr std::size_t first_match = 32;
  constexpr std::size_t longest_in_control = 7;
  constexpr std::size_t shortest_match = 2;
  Unpacker unpacker(in, out);
  std::size_t control = 0;
  while (unpacker.take(control)) {
    if (control < first_match) {
      if (!unpacker.copy(control + 1)) {
        return false;
      }
      continue;
    }
    std::size_t length = control >> 5;
    std::size_t more = 0;
    std::size_t low = 0;
    if ((length == longest_in_control && !unpacker.take(more)) || !unpacker.take(low)) {
      return false;
    }
    length += more + shortest_match;
    const std::size_t high = control & (first_match - 1);
    if (!unpacker.repeat((high << 8 | low) + 1, length)) {
      return false;
    }
  }
  return unpacker.is_full();
}

class Lzf final : public Worker {
 public:
  std::size_t encode(const Parameters&, std::span<const std::byte>, std::span<std::byte>) override {
    return 0;
  }
  bool decode(const Parameters&, std::span<const std::byte> in, std::span<std::byte> out) override {
    return decode_lzf(in, out);
  }
};

}  // namespace

std::optional<Method> lzf_method() {
  return Method{"lzf", lzf_id, false, 0, 1, 1, 1, [] { return std::make_unique<Lzf>(); }};
}

}  // namespace sluice::codec
