// Nearly correct bytes: what a bad disk, a bad copy or an attacker makes of a file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace sluice::test {

using FuzzBytes = std::vector<std::byte>;

/// Deterministic: the same seed and input give the same mutants in the same order.
class Mutator {
 public:
  /// `in_place`: bytes change, but none is inserted or lost.
  explicit Mutator(std::uint64_t seed, bool in_place = false)
      : random_(seed), in_place_(in_place) {}

  /// One to four changes of `input`.
  FuzzBytes mutate(const FuzzBytes& input) {
    FuzzBytes bytes = input;
    for (auto changes = 1 + below(4); changes > 0; --changes) {
      change(bytes);
    }
    return bytes;
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }

  void change(FuzzBytes& bytes) {
    if (bytes.empty()) {
      bytes.resize(1 + below(64));
      return;
    }
    const std::uint64_t at = below(bytes.size());
    switch (below(in_place_ ? 5 : 8)) {
      case 0:
        bytes[at] ^= std::byte(1U << below(8));
        break;
      case 1:
        bytes[at] = std::byte(below(256));
        break;
      case 2:
        number(bytes, at);
        break;
      case 3:
        std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                  bytes.begin() + static_cast<std::ptrdiff_t>(std::min(at + 512, bytes.size())),
                  std::byte{0});  // a sector that was never written
        break;
      case 4: {  // a range copied over another one
        const std::uint64_t from = below(bytes.size());
        const std::uint64_t length = std::min(1 + below(512), bytes.size() - std::max(at, from));
        std::memmove(&bytes[at], &bytes[from], length);
        break;
      }
      case 5: {  // a random range inserted
        FuzzBytes more(1 + below(64));
        std::generate(more.begin(), more.end(), [&] { return std::byte(below(256)); });
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
        break;
      }
      case 6: {  // a range removed
        const std::uint64_t length = std::min(1 + below(64), bytes.size() - at);
        bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    bytes.begin() + static_cast<std::ptrdiff_t>(at + length));
        break;
      }
      default:
        bytes.resize(at);  // truncated anywhere
    }
  }

  /// The numbers that break arithmetic, in 4 or 8 bytes.
  void number(FuzzBytes& bytes, std::uint64_t at) {
    static constexpr std::uint64_t hostile[] = {0,
                                                1,
                                                0x7fffffff,
                                                0x80000000,
                                                0xffffffff,
                                                0x100000000,
                                                0x7fffffffffffffff,
                                                0x8000000000000000,
                                                0xffffffffffffffff,
                                                0xfffffffffffffff8};
    const std::uint64_t value = hostile[below(std::size(hostile))];
    const std::uint64_t width = std::min<std::uint64_t>(below(2) == 0 ? 4 : 8, bytes.size() - at);
    std::memcpy(&bytes[at], &value, width);
  }

  std::mt19937_64 random_;
  bool in_place_;
};

}  // namespace sluice::test
