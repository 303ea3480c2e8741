// A checksum record as words of a file: the box and its variable, the rank that wrote it, and the
// checksum of its dense file bytes.
//
// Invariant: every record has a checksum of its own, so that a damaged record is distinguished from
// one that was never written. Words: name hash; header; start; count; checksum. The header: 8 bits
// of dimensions, 24 bits of the rank that wrote the box, 32 bits of CRC-32C over the other bits of
// the record.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/box.hpp"

namespace sluice::exec {

struct ChecksumRecord {
  /// The largest rank that can be recorded; higher ranks are not named.
  static constexpr std::uint32_t nobody = (1U << 24) - 1;

  std::uint64_t name_hash = 0;
  model::Box box;
  std::uint64_t checksum = 0;  ///< XXH3
  std::uint32_t rank = nobody;

  void append_to(std::vector<std::uint64_t>& words) const;
  /// Parses the record at `words[at]` and moves `at` behind it; empty if there is none, or its CRC
  /// does not match.
  static std::optional<ChecksumRecord> take_from(std::span<const std::uint64_t> words,
                                                 std::size_t& at);
};

}  // namespace sluice::exec
