// The reader's side of two-phase reading: windows of its range, checked and sent on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codec/checksum.hpp"
#include "exec/exchange/bounded_exchange.hpp"
#include "exec/read/read_map.hpp"
#include "layout/runs.hpp"
#include "model/bits.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {

/// The parts of a rank that are in a reader's range, ascending; with their index among the rank's.
struct Share {
  int rank = 0;
  std::vector<std::size_t> indices;
  std::vector<layout::RunList> runs;
  std::vector<layout::Piece> pieces;

  std::uint64_t bytes(const Range& range) const {
    std::uint64_t sum = 0;
    for_each(range, [&](std::size_t, std::uint64_t from, std::uint64_t to) { sum += to - from; });
    return sum;
  }
  /// visit(index in the share, packed_from, packed_to) for the parts in the range.
  template <class Visit>
  void for_each(const Range& range, Visit&& visit) const {
    const auto before = [&](const layout::RunList& list) { return list.end() <= range.first; };
    auto at = std::partition_point(runs.begin(), runs.end(), before);
    for (; at != runs.end() && at->begin() < range.last; ++at) {
      const std::uint64_t from = at->packed_before(range.first);
      const std::uint64_t to = at->packed_before(range.last);
      if (from != to) {
        visit(static_cast<std::size_t>(at - runs.begin()), from, to);
      }
    }
  }
};

class WindowReader {
 public:
  WindowReader(storage::File& file, const layout::Placement& placement, const ReadMap& map,
               std::size_t index, std::vector<Share> shares, std::span<const CheckedPiece> records,
               std::vector<std::byte>& window_buffer);

  const std::vector<std::size_t>& mismatches() const { return mismatches_; }

  /// Reads the window of a round and updates the checksums. With `failed` it only takes part in the
  /// collective calls of the readers.
  void read(std::uint64_t round, bool failed);

  /// The requests of the others for the window; see RoundParty for this and what follows.
  std::vector<RoundMessage> messages() const;
  std::span<const std::byte> in_place(const RoundMessage& message) const;
  void pack(const RoundMessage& message, std::span<std::byte> into) const;

 private:
  struct Running {
    std::size_t record = 0;
    layout::RunList runs;
    std::uint64_t checksum = 0;
    std::unique_ptr<codec::Checksum> under_way;
  };

  void select_records(const layout::Placement& placement, std::span<const CheckedPiece> records);
  std::vector<storage::ReadPiece> needed_pieces();
  /// As File::will_read().
  std::shared_ptr<void> will_read(std::span<const storage::ReadPiece> pieces);
  /// Reads piece by piece, and updates the checksums while the bytes are in the processor's cache.
  void read_and_check(std::span<const storage::ReadPiece> pieces);
  void mark(const layout::RunList& runs);
  void mark_needed();
  /// Updates the checksums by the bytes of a part of the window.
  void check_records(const Range& range);
  /// Calls visit for records that begin before the end of a part of the window and were not
  /// completed before it.
  template <class Visit>
  void for_each_record(const Range& range, Visit&& visit);

  storage::File& file_;
  const ReadMap& map_;
  const std::size_t index_;
  const std::vector<Share> shares_;
  std::vector<std::byte>& buffer_;
  model::Bits needed_;
  Range window_;
  std::vector<Running> records_;
  std::size_t done_ = 0;  ///< this many of the first records are complete
  std::vector<std::size_t> mismatches_;
};

template <class Visit>
void WindowReader::for_each_record(const Range& range, Visit&& visit) {
  for (std::size_t i = done_; i < records_.size(); ++i) {
    if (records_[i].runs.begin() >= range.last) {
      return;
    }
    if (records_[i].runs.end() > range.first) {
      visit(records_[i]);
    }
  }
}

}  // namespace sluice::exec
