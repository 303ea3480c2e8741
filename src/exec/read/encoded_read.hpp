// Compressed variables on their way to the ranks that want them: every tile is read and decoded by
// one rank, which sends on what others want of it.
//
// The tiles of the region that all ranks together want are dealt to the readers by a closed rule
// (plan::TileOwners). A rank tells its box to the readers of the tiles that the box meets, and to
// nobody else; both sides then find the lengths of all messages by arithmetic. In round r a reader
// has the tiles at positions [r n, (r + 1) n) of its own, and decodes those that somebody wants.
//
// Invariants: no rank knows what others want but a reader, of its own tiles: memory grows with a
// rank's own box and with those who ask it, not with the number of ranks; a rank holds of one round
// the tiles that it decodes, what it receives, and a bounded buffer of what it sends, together
// within the budget. The rounds themselves are exec/exchange/bounded_exchange.
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
  const layout::EncodedTiles* tiles = nullptr;  ///< of all that any rank wants
  model::Box region;                            ///< holds all boxes; the same on every rank
  codec::Pipeline pipeline;
  std::string name;        ///< of the variable, in messages
  plan::RankList readers;  ///< ranks that decode; the same on every rank
  std::uint64_t budget_bytes = 0;
  std::size_t threads = 1;
  /// On readers, called by any thread.
  std::function<storage::File&()> file;
  /// Looks at a decoded tile; throws where it is not what it should be. Called by any thread.
  std::function<void(std::uint64_t tile, std::span<const std::byte> dense)> inspect;
  /// On every rank, when all of its box that is there was delivered; may throw.
  std::function<void()> finish;
};

/// Collective. Brings what is there of this rank's box to `deliver(part, dense bytes)`, piece by
/// piece. Nothing is delivered of tiles that the file does not hold. What any rank met, every rank
/// throws.
void read_encoded(
    Transport& transport, const EncodedReading& reading, const model::Box& mine,
    const std::function<void(const model::Box&, std::span<const std::byte>)>& deliver);

}  // namespace sluice::exec
