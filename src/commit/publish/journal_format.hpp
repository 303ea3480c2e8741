// The parts of a journal's format that its readers and writers share; see journal.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sluice::commit {

struct JournalHeader {
  std::array<char, 8> magic;
  std::uint64_t commit;
  std::uint64_t payload_bytes;
  std::uint64_t runs;
  std::uint64_t end;
  std::int64_t modified_ns;
  std::uint64_t payload_checksum;
  std::uint64_t header_checksum;
};
inline constexpr std::size_t journal_header_bytes = 64;
static_assert(sizeof(JournalHeader) == journal_header_bytes);
/// Before the bytes of a run: its offset and its length.
inline constexpr std::size_t journal_run_header_bytes = 16;

JournalHeader make_header(std::uint64_t commit, std::uint64_t payload_bytes, std::uint64_t runs,
                          std::uint64_t end, std::int64_t modified_ns,
                          std::uint64_t payload_checksum);

/// The header at the front of `bytes`; empty if it is damaged or claims more than a file of
/// `file_bytes` holds. The payload is still to be checked.
std::optional<JournalHeader> sound_header(std::span<const std::byte> bytes,
                                          std::uint64_t file_bytes);

/// The ranges, [from, to) each, in which two ranges of the same length differ, merged over short
/// gaps.
std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> differing_parts(
    std::span<const std::byte> before, std::span<const std::byte> after);

}  // namespace sluice::commit
