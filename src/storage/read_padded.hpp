// Reading where a file may have ended already.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "storage/storage.hpp"

namespace sluice::storage {

/// Fills `bytes` from `offset` on, with zeros where the file has ended.
inline void read_padded(File& file, std::uint64_t offset, std::span<std::byte> bytes) {
  std::ranges::fill(bytes.subspan(file.read(offset, bytes)), std::byte{0});
}

}  // namespace sluice::storage
