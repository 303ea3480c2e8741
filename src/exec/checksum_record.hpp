// A checksum record as words of a file: which box of which variable, who wrote it, and the checksum
// of its dense file bytes.
//
// Invariant: every record proves itself, so that one that changed is told from one that was never
// there. Words: name hash; head; start; count; checksum. The head: 8 bits of dimensions, 24 bits of
// the rank that wrote the box, 32 bits of CRC-32C over the other bits of the record.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/box.hpp"

namespace sluice::exec {

/// Words of a record of a box with so many dimensions.
inline constexpr std::uint64_t record_words(int dimensions) {
  return 3 + 2 * static_cast<std::uint64_t>(dimensions);
}

struct ChecksumRecord {
  /// The largest rank that has a place of its own; above it nobody is named.
  static constexpr std::uint32_t nobody = (1U << 24) - 1;

  std::uint64_t name_hash = 0;
  model::Box box;
  std::uint64_t checksum = 0;  ///< XXH3
  std::uint32_t rank = nobody;

  void append_to(std::vector<std::uint64_t>& words) const;
  /// Takes the record that begins at `words[at]` and moves `at` behind it; nothing where there is
  /// none, or one that does not prove itself.
  static std::optional<ChecksumRecord> take_from(std::span<const std::uint64_t> words,
                                                 std::size_t& at);
};

}  // namespace sluice::exec
