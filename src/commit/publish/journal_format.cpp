#include "commit/publish/journal_format.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "codec/checksum.hpp"

namespace sluice::commit {

namespace {

constexpr std::array<char, 8> journal_magic{'S', 'L', 'U', 'I', 'C', 'E', 'J', '1'};
/// Equal bytes between two differing ones that are cheaper to write than the header of another run.
constexpr std::size_t shortest_gap_bytes = 16;

std::uint64_t checksum_of(const JournalHeader& header) {
  return codec::checksum(
      std::as_bytes(std::span(&header, 1)).first(journal_header_bytes - sizeof(std::uint64_t)));
}

/// The first position from `at` on where the two differ; their size if there is none. Whole blocks
/// first: in a node of an index some bytes change, and thousands stay.
std::size_t first_difference(std::span<const std::byte> a, std::span<const std::byte> b,
                             std::size_t at) {
  constexpr std::size_t block_bytes = 256;
  while (at + block_bytes <= a.size() && std::memcmp(&a[at], &b[at], block_bytes) == 0) {
    at += block_bytes;
  }
  const auto from = static_cast<std::ptrdiff_t>(at);
  const auto found = std::mismatch(a.begin() + from, a.end(), b.begin() + from).first;
  return static_cast<std::size_t>(found - a.begin());
}

/// The bytes in which two words differ, the first in memory lowest; 0: none.
std::uint64_t difference_of(const std::byte* a, const std::byte* b) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  std::memcpy(&left, a, sizeof left);
  std::memcpy(&right, b, sizeof right);
  return left ^ right;
}

/// The end of the differing part that starts at `at`: it is followed by shortest_gap_bytes equal
/// ones. In changed raw data all bytes differ, so whole words are compared first.
std::size_t end_of_difference(std::span<const std::byte> a, std::span<const std::byte> b,
                              std::size_t at) {
  constexpr std::size_t word_bytes = sizeof(std::uint64_t);
  constexpr std::size_t bits = 8;
  std::size_t end = at + 1;
  std::size_t next = end;
  while (next < a.size() && next - end < shortest_gap_bytes) {
    const std::uint64_t word =
        next + word_bytes <= a.size() ? difference_of(&a[next], &b[next]) : 0;
    const std::size_t first = static_cast<std::size_t>(std::countr_zero(word)) / bits;
    if (word != 0 && next + first - end < shortest_gap_bytes && (word >> (64 - bits)) != 0) {
      // Its last byte differs; no gap within it is long enough.
      next += word_bytes;
      end = next;
      continue;
    }
    if (a[next] != b[next]) {
      end = next + 1;
    }
    ++next;
  }
  return end;
}

}  // namespace

JournalHeader make_header(std::uint64_t commit, std::uint64_t payload_bytes, std::uint64_t runs,
                          std::uint64_t end, std::int64_t modified_ns,
                          std::uint64_t payload_checksum) {
  JournalHeader header{journal_magic, commit,      payload_bytes,    runs,
                       end,           modified_ns, payload_checksum, 0};
  header.header_checksum = checksum_of(header);
  return header;
}

std::optional<JournalHeader> sound_header(std::span<const std::byte> bytes,
                                          std::uint64_t file_bytes) {
  if (bytes.size() < journal_header_bytes || file_bytes < journal_header_bytes) {
    return std::nullopt;
  }
  JournalHeader header{};
  std::memcpy(&header, bytes.data(), journal_header_bytes);
  if (header.magic != journal_magic || header.header_checksum != checksum_of(header) ||
      header.payload_bytes > file_bytes - journal_header_bytes) {
    return std::nullopt;
  }
  return header;
}

std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> differing_parts(
    std::span<const std::byte> before, std::span<const std::byte> after) {
  std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> parts;
  for (std::size_t at = first_difference(before, after, 0); at < before.size();
       at = first_difference(before, after, at)) {
    const std::size_t end = end_of_difference(before, after, at);
    parts.emplace_back(at, end);
    at = end;
  }
  return parts;
}

}  // namespace sluice::commit
