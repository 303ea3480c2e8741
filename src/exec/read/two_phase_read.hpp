// Two-phase reading: some ranks read windows of the file, every byte once, and send the requested
// parts to the others.
//
// All ranks know the addresses, so the lengths of all messages are computed: a reader receives a
// list of boxes from each rank once, and nothing else is announced.
//
// Invariants: a reader's range is read in ascending windows, so checksums are computed on the way
// and no record is ever kept in memory; only bytes that are requested
// or covered by a requested record are read, except gaps of a few KiB; a rank holds one window, as
// much again to send, what one round brings, and the parts of its selection that are not complete.
// The rounds themselves are exec/exchange/bounded_exchange.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "exec/exchange/bounded_exchange.hpp"
#include "exec/read/read_map.hpp"
#include "exec/transport/given_up.hpp"
#include "exec/transport/transport.hpp"
#include "layout/placement.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {

/// Memory that lives as long as the file: touching it first costs more than the reads.
struct ReadBuffers {
  std::vector<std::byte> window;
  ExchangeBuffers messages;
  std::vector<std::vector<std::byte>> idle;  ///< memory of completed parts
  MessageMark mark = {};

  ~ReadBuffers() { mark.keep_used(window, messages, idle); }

  std::uint64_t bytes() const;
};

/// What becomes of the parts that a rank reads.
struct ReadSink {
  /// Memory in which a part may be put together; empty: none, and what it holds after a failure is
  /// undefined.
  std::function<std::span<std::byte>(std::size_t part)> place;
  /// The dense file bytes of a part as soon as it is complete, each once; they may be changed.
  std::function<void(std::size_t part, std::span<std::byte> bytes)> whole;
  /// At the end, with the indices of the records that this rank read and that do not match.
  std::function<void(std::span<const std::size_t> mismatches)> finish;
};

/// Collective. Reads the dense file bytes of this rank's `parts` (in tiles that exist; their
/// extents in the file do not overlap). `file`: open on readers. `records`: the same on every rank;
/// those that overlap a requested part are checked. A failure of any rank, in the calls of the sink
/// too, is thrown on every rank.
void read_in_rounds(Transport& transport, storage::File* file, const layout::Placement& placement,
                    const ReadMap& map, std::span<const layout::Piece> parts,
                    std::span<const CheckedPiece> records, ReadBuffers& buffers,
                    const ReadSink& sink);

/// Bytes that reading `piece` alone reads from the disk: short gaps between its runs are included.
std::uint64_t bytes_from_disk(const layout::Placement& placement, const layout::Piece& piece);

}  // namespace sluice::exec
