// What was written in new space since the last sync of the data, by checksum: the record of a
// commit says it, so that both are synced at the same time; and after a sync that failed the kernel
// may have dropped any of it, and says yes the next time.
//
// Invariant: ranges do not overlap; where that cannot be held (a write over parts of others), or
// there are too many, nothing can be told any more until the next clear(). What is written in place
// without a sync is not told either: where commits do not wait for the disk, a sync that fails has
// lost what it should have made durable.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "commit/publish/journal_tail.hpp"
#include "storage/storage.hpp"

namespace sluice::plugin {

class FreshRanges {
 public:
  /// `is_kept`: else nothing that is written can be told.
  explicit FreshRanges(bool is_kept) : is_kept_(is_kept) {}
  void add(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Something else was written, which no checksum is kept of.
  void add_untold() noexcept;
  void clear();
  /// Is all that was written known?
  bool is_known() const noexcept { return is_known_; }
  /// What the file has in [from, end), in which everything was told to add() or never written.
  /// Nothing where that cannot be told, or would cost more than a sync.
  std::optional<std::vector<commit::FreshExtent>> cover(storage::File& file, std::uint64_t from,
                                                        std::uint64_t end) const;
  /// Reads everything back through `file`, a descriptor on which no sync has failed, and writes it
  /// there again. False: what was read differs from what was written, or it cannot be told.
  bool write_again(storage::File& file) const;

 private:
  struct Range {
    std::uint64_t length = 0;
    std::uint64_t checksum = 0;
  };
  const bool is_kept_;
  std::map<std::uint64_t, Range> ranges_;
  bool is_known_ = true;
};

}  // namespace sluice::plugin
