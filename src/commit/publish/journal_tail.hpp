// What a record of a journal says besides its runs.
//
// Format (little-endian), at the end of the payload of a record with the magic "SLUICEJ3" or
// "SLUICEJ4": for each fresh extent its offset, its length, the XXH3 of its bytes; the number of
// extents.
//
// Invariants: such a record may reach the disk before the bytes of its extents do, and counts only
// where the file has these, and its length; extents ascend and do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "storage/storage.hpp"

namespace sluice::commit {

/// Bytes that a commit wrote where none were committed before.
struct FreshExtent {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t checksum = 0;
};

struct JournalTail {
  std::vector<FreshExtent> fresh;

  std::vector<std::byte> to_bytes() const;
  /// As many as to_bytes() makes.
  std::uint64_t size_bytes() const;
};

/// How long the tail is that ends a payload of `room_bytes`, of which `last` has the last 8 bytes;
/// nothing where it does not fit.
std::optional<std::uint64_t> tail_bytes(std::span<const std::byte> last, std::uint64_t room_bytes);
/// The tail of the payload that ends at `end` of a journal; nothing where it does not fit.
std::optional<JournalTail> read_tail(storage::File& journal, std::uint64_t end,
                                     std::uint64_t room_bytes);

/// Has the file everything that the tail says is in it, and `end` bytes?
bool has_fresh(storage::File& file, const JournalTail& tail, std::uint64_t end);

/// Opens the file beside the journal, null where there is none; called only where a record has a
/// tail.
using OpenData = std::function<std::unique_ptr<storage::File>()>;

}  // namespace sluice::commit
