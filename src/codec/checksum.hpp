// The checksum of the library, XXH3 of 64 bits, and those of formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::codec {

std::uint64_t checksum(std::span<const std::byte> bytes);
std::uint64_t checksum(std::string_view text);

/// CRC-32C (Castagnoli), as Zarr has it.
std::uint32_t crc32c(std::span<const std::byte> bytes);

/// Bob Jenkins' lookup3 (hashlittle), as HDF5 has it. Of the length the lower 32 bits count.
std::uint32_t lookup3(std::span<const std::byte> bytes);

/// checksum() over bytes that come in pieces.
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
