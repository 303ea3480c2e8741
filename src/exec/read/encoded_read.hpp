// The transfer of compressed variables to the ranks that request them: every tile is read and
// decoded by one rank, which sends the requested parts to the others.
//
// The tiles of the region that all ranks together request are assigned to the readers by a closed
// rule (plan::TileOwners). A rank sends its box to the readers of the tiles that the box overlaps,
// and to no other rank; both sides then compute the lengths of all messages. In round r a reader
// has the tiles at positions [r n, (r + 1) n) of its own, and decodes those that were requested.
//
// Invariants: only a reader knows the requests of others, for its own tiles: memory grows with a
// rank's own box and with the requests to it, not with the number of ranks; in a round a rank holds
// the tiles that it decodes, what it receives, and a bounded buffer of what it sends, together
// within the budget, or one tile that is longer. The rounds themselves are
// exec/exchange/bounded_exchange.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "exec/transport/transport.hpp"
#include "layout/encoded_tiles.hpp"
#include "plan/rank_list.hpp"

namespace sluice::exec {

struct EncodedReading {
  const layout::EncodedTiles* tiles = nullptr;  ///< the union of all requests
  model::Box region;                            ///< contains all boxes; the same on every rank
  codec::Pipeline pipeline;
  std::string name;        ///< name of the variable, for messages
  plan::RankList readers;  ///< ranks that decode; the same on every rank
  std::uint64_t budget_bytes = 0;
  std::size_t threads = 1;
  /// On readers, called by any thread.
  std::function<storage::File&()> file;
  /// Verifies a decoded tile; throws if it is wrong. Called by any thread.
  std::function<void(std::uint64_t tile, std::span<const std::byte> dense)> inspect;
  /// On every rank, when all existing parts of its box were delivered; may throw.
  std::function<void()> finish;
};

/// Collective. Passes the existing parts of this rank's box to `deliver(part, dense bytes)`, piece
/// by piece. Nothing is delivered of tiles that the file does not hold. A failure of any rank is
/// thrown on every rank.
void read_encoded(
    Transport& transport, const EncodedReading& reading, const model::Box& mine,
    const std::function<void(const model::Box&, std::span<const std::byte>)>& deliver);

}  // namespace sluice::exec
