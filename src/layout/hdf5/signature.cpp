#include "layout/hdf5/signature.hpp"

#include <cstring>

namespace sluice::layout::hdf5 {

namespace {

constexpr auto newest_superblock = std::byte{3};

bool is_signature(const std::byte* bytes) {
  return std::memcmp(bytes, signature.data(), signature.size()) == 0;
}

}  // namespace

bool has_signature(storage::File& file) {
  const std::uint64_t size = file.size();
  for (std::uint64_t at = 0; at + signature.size() <= size; at = next_signature_place(at)) {
    std::array<std::byte, signature.size()> bytes{};
    if (file.read(at, bytes) == bytes.size() && is_signature(bytes.data())) {
      return true;
    }
  }
  return false;
}

bool begins_with_superblock(storage::File& file) {
  std::array<std::byte, signature.size() + 1> head{};
  return file.read(0, head) == head.size() && is_signature(head.data()) &&
         head.back() <= newest_superblock;
}

}  // namespace sluice::layout::hdf5
