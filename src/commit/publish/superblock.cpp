#include "commit/publish/superblock.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace sluice::commit {

std::optional<Superblock> find_superblock(storage::File& file) {
  using layout::hdf5::signature;
  const std::uint64_t size = file.size();
  for (std::uint64_t at = 0; at < size; at = layout::hdf5::next_signature_place(at)) {
    std::array<std::byte, signature.size()> first{};
    if (file.read(at, first) != first.size()) {
      break;
    }
    const bool is_either = first[0] == spoiled_byte || first[0] == signature_byte;
    if (is_either && std::equal(first.begin() + 1, first.end(), signature.begin() + 1)) {
      return Superblock{at, first[0] == spoiled_byte};
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> end_in(storage::File& file, const Superblock& superblock) {
  constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  std::array<std::byte, 64> bytes{};
  if (superblock.offset != 0 || file.read(0, bytes) != bytes.size()) {
    return std::nullopt;
  }
  // The version, and then the number of bytes of an address; the base address, another one, and
  // the end follow one another.
  const auto version = std::to_integer<int>(bytes[8]);
  const bool is_new = version == 2 || version == 3;
  if ((!is_new && version > 1) ||
      std::to_integer<std::size_t>(bytes[is_new ? 9 : 13]) != word_bytes) {
    return std::nullopt;
  }
  const std::size_t base_at = is_new ? 12 : version == 0 ? 24 : 28;
  std::array<std::uint64_t, 3> words{};
  std::memcpy(words.data(), &bytes[base_at], sizeof words);
  return words[0] == 0 ? std::optional(words[2]) : std::nullopt;
}

void without_guard(const Superblock& superblock, std::uint64_t offset, std::span<std::byte> bytes) {
  if (superblock.offset >= offset && superblock.offset - offset < bytes.size()) {
    std::byte& first = bytes[superblock.offset - offset];
    first = first == spoiled_byte ? signature_byte : first;
  }
}

}  // namespace sluice::commit
