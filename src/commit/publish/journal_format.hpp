// The parts of a journal's format that its readers and writers share: journal.hpp says what it is.
//
// Invariants: a record behind another one counts only with that: its header's checksum covers the
// one before. So neither what an older journal left there nor bytes of the file that look like a
// record are taken for one. Only the last of a chain may be incomplete: the one before was durable,
// and in place, when it was begun.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "commit/publish/journal_tail.hpp"
#include "storage/storage.hpp"

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
/// In the length of a run: the checksum of its old bytes stands in their place.
inline constexpr std::uint64_t only_new_bit = std::uint64_t{1} << 63;
/// Of such a run, so that its checksum is of one piece (journal_runs.hpp).
inline constexpr std::uint64_t most_only_new_bytes = 1 << 20;

/// Where a record of a journal begins, and the checksum in the header of the one before it.
struct JournalPlace {
  std::uint64_t at = 0;
  std::uint64_t previous = 0;  ///< 0: it is the first
};

/// Of a journal of one record whose runs have all their old bytes; of any other; and of a record
/// with a JournalTail, without and with the rule that a begun change counts (journal.hpp).
inline constexpr std::array<char, 8> plain_magic{'S', 'L', 'U', 'I', 'C', 'E', 'J', '1'};
inline constexpr std::array<char, 8> log_magic{'S', 'L', 'U', 'I', 'C', 'E', 'J', '2'};
inline constexpr std::array<char, 8> tail_magic{'S', 'L', 'U', 'I', 'C', 'E', 'J', '3'};
inline constexpr std::array<char, 8> begun_magic{'S', 'L', 'U', 'I', 'C', 'E', 'J', '4'};
inline bool has_tail(const JournalHeader& header) {
  return header.magic == tail_magic || header.magic == begun_magic;
}

/// Gives `header` its own checksum, as of a record behind `previous`.
JournalHeader sealed_header(JournalHeader header, std::uint64_t previous);
/// The place behind a record.
JournalPlace place_behind(const JournalPlace& place, const JournalHeader& header);

/// The header at the front of `bytes`, nothing where it is damaged or claims more than `room_bytes`
/// hold. The payload is still to be checked.
std::optional<JournalHeader> sound_header(std::span<const std::byte> bytes,
                                          std::uint64_t room_bytes, std::uint64_t previous = 0);

/// What the two words in front of a run say.
struct JournalRunShape {
  std::uint64_t length = 0;
  std::uint64_t before_bytes = 0;  ///< the old bytes, or their checksum
  bool only_new = false;
};
/// `at`: of the old bytes, or their checksum. The new bytes follow.
using VisitRun =
    std::function<void(std::uint64_t offset, const JournalRunShape& shape, std::uint64_t at)>;
/// Visits the `count` runs of a payload from `begin` to `end`, of which `read` reads bytes. False
/// where a run is malformed, which ends the visits, or the runs do not end at `end`.
bool visit_runs(std::uint64_t count, std::uint64_t begin, std::uint64_t end,
                const std::function<void(std::uint64_t at, std::span<std::byte> bytes)>& read,
                const VisitRun& visit);

struct JournalRecord {
  std::uint64_t at = 0;
  JournalHeader header;
};
/// The last complete record of a journal; the one before it, if `is_backed` says that the data of
/// the last one is not there. Error damaged where the first one is, and others follow.
std::optional<JournalRecord> last_record(
    storage::File& file, const std::function<bool(const JournalRecord&)>& is_backed = {});
/// Empty where it has none. Of a record whose payload is known to be complete.
std::optional<JournalTail> tail_of(storage::File& file, const JournalRecord& record);

/// The ranges, [from, to) each, in which two ranges of the same length differ, merged over short
/// gaps, and over those of up to `joined_bytes`.
std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> differing_parts(
    std::span<const std::byte> before, std::span<const std::byte> after,
    std::size_t joined_bytes = 0);

}  // namespace sluice::commit
