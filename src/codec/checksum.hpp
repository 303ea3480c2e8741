// The one checksum of the library: XXH3, 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::codec {

std::uint64_t checksum(std::span<const std::byte> bytes);
std::uint64_t checksum(std::string_view text);

/// The same over bytes that come in pieces.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void restart();
  void update(std::span<const std::byte> bytes);
  std::uint64_t value() const;

 private:
  struct State;
  State* state_;
};

}  // namespace sluice::codec
