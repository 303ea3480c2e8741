// Reading in two phases: some ranks read windows of the file, every byte once, and send on what the
// others want of them.
//
// Where everything lies is known to all, so the lengths of all messages are arithmetic: a reader
// gets a list of boxes from each rank once, and nothing else is announced.
//
// Invariants: a reader's range is read in ascending windows, so checksums are taken on the way and
// no record is ever held; ranges never cut a record; only windows' bytes that somebody wants, or
// that a wanted record covers, are read, gaps of a few KiB apart; a rank holds one window, as much
// again to send, what one round brings, and the parts of its selection that are not complete. The
// rounds themselves are exec/exchange/bounded_exchange.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "exec/exchange/bounded_exchange.hpp"
#include "exec/transport/transport.hpp"
#include "layout/placement.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {

/// Who reads what: reader i the file range [bounds[i], bounds[i + 1]).
struct ReadMap {
  std::vector<int> readers;  ///< ranks, ascending
  std::vector<std::uint64_t> bounds;
  std::uint64_t window_bytes = 0;

  std::uint64_t rounds() const;
};

/// A box whose bytes have a known XXH3. It lies in one tile.
struct CheckedPiece {
  layout::Piece piece;
  std::uint64_t checksum = 0;
};

/// Cuts `space` evenly among the readers, though never inside one of `records`. Pure.
ReadMap read_map(const layout::Placement& placement, const layout::Extent& space,
                 std::span<const CheckedPiece> records, std::vector<int> readers,
                 std::uint64_t window_bytes);

/// Memory that lives as long as the file: first touches cost more than reads.
struct ReadBuffers {
  std::vector<std::byte> window;
  ExchangeBuffers messages;
  std::vector<std::vector<std::byte>> idle;  ///< of parts that are complete

  std::uint64_t bytes() const;
};

/// Collective. Brings the dense file bytes of this rank's `parts` (in tiles that are there; their
/// extents in the file do not overlap) to `whole(index, bytes)`, each once, as soon as it is
/// complete; the bytes may be changed. `file`: open on readers. `records`: the same on every rank;
/// those that overlap a wanted part are checked. At the end `finish(mismatches)` is told the
/// indices of the records, of those that this rank read, that do not match. What any rank met,
/// those two calls included, every rank throws.
void read_in_rounds(Transport& transport, storage::File* file, const layout::Placement& placement,
                    const ReadMap& map, std::span<const layout::Piece> parts,
                    std::span<const CheckedPiece> records, ReadBuffers& buffers,
                    const std::function<void(std::size_t, std::span<std::byte>)>& whole,
                    const std::function<void(std::span<const std::size_t>)>& finish);

/// Bytes that reading `piece` alone takes from the disk: short gaps between its runs are read too.
std::uint64_t bytes_from_disk(const layout::Placement& placement, const layout::Piece& piece);

}  // namespace sluice::exec
