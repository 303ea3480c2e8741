// The journal beside a file: the old and new bytes of one change in place.
//
// Format (little-endian): a header of 64 bytes: magic "SLUICEJ1"; commit number; bytes of the
// payload; number of runs; length that the file must have; time of modification that the commit
// gives the file; XXH3 of the payload; XXH3 of the 56 bytes before. Payload: for each run its
// offset, its length, the old bytes, the new bytes. Where the top bit of the length is set, the old
// bytes are left out, and their XXH3 stands in their place.
// Records of later commits may follow, each at the next multiple of 4096 bytes; the checksum of
// such a header covers that of the header before, too. The last complete one is the journal. Where
// runs lack old bytes, or records may follow, the magic is "SLUICEJ2". "SLUICEJ3" and "SLUICEJ4":
// the commit needs data that was not on the disk when the record was written; the payload ends with
// its checksums (journal_tail.hpp), and the record counts only where that data is in the file. In a
// "SLUICEJ4" it also counts where the change in place has begun, which is after the data is synced.
//
// Invariants: a journal is complete or it is ignored: any torn or damaged byte makes it incomplete;
// runs ascend and do not overlap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commit/publish/journal_tail.hpp"
#include "layout/placement.hpp"
#include "model/overlay.hpp"
#include "storage/endings.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

using storage::journal_path;

/// Bytes at an offset, before and after a commit.
struct JournalRun {
  std::uint64_t offset = 0;
  std::vector<std::byte> before;  ///< empty: only their checksum is known
  std::vector<std::byte> after;
  std::uint64_t before_checksum = 0;
};

struct Journal {
  std::uint64_t commit = 0;
  std::uint64_t end = 0;  ///< the file is at least this long when the journal is complete
  std::int64_t modified_ns = 0;
  std::vector<JournalRun> runs;
  /// What the file must have, unless the change has begun. Not what parse_journal() returns: its
  /// bytes are of a record that counts.
  JournalTail tail;

  /// As a record behind that whose header has the checksum `previous`; 0: it is the first.
  /// `is_in_log`: others may follow.
  std::vector<std::byte> to_bytes(std::uint64_t previous = 0, bool is_in_log = false) const;
};

/// The journal in `bytes`; empty if they are not a complete one.
std::optional<Journal> parse_journal(std::span<const std::byte> bytes);

/// More than a commit of a million variables needs. It is held in memory whole.
inline constexpr std::uint64_t most_journal_bytes = 128 << 20;

/// `changes` of `file`: only the bytes that differ from those in it, and up to `joined_bytes`
/// between two such ranges.
Journal make_journal(storage::File& file, const model::Overlay& changes, std::uint64_t end,
                     std::uint64_t commit, std::int64_t modified_ns, std::size_t joined_bytes);

/// Makes all records of a journal void, on the disk, before its front is written over: torn there,
/// a record would leave the first of the old ones whole and those behind it not.
void forget_records(storage::File& journal);

/// Adds the checksums of the data in `extent`, which is not on the disk yet.
void add_data(Journal& journal, storage::File& file, const layout::Extent& extent);

}  // namespace sluice::commit
