#include "commit/publish/superblock.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace sluice::commit {

std::optional<Superblock> find_superblock(storage::File& file) {
  constexpr std::array<char, 7> rest{'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  constexpr std::uint64_t first_behind_user_block = 512;
  const std::uint64_t size = file.size();
  for (std::uint64_t at = 0; at < size; at = std::max(first_behind_user_block, 2 * at)) {
    std::array<std::byte, 1 + rest.size()> first{};
    if (file.read(at, first) != first.size()) {
      break;
    }
    const bool is_either = first[0] == spoiled_byte || first[0] == signature_byte;
    if (is_either && std::memcmp(&first[1], rest.data(), rest.size()) == 0) {
      return Superblock{at, first[0] == spoiled_byte};
    }
  }
  return std::nullopt;
}

void without_guard(const Superblock& superblock, std::uint64_t offset, std::span<std::byte> bytes) {
  if (superblock.offset >= offset && superblock.offset - offset < bytes.size()) {
    std::byte& first = bytes[superblock.offset - offset];
    first = first == spoiled_byte ? signature_byte : first;
  }
}

}  // namespace sluice::commit
