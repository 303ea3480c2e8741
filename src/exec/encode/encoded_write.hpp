// Compressed variables on their way into a file: blocks go to the owners of their tiles, owners
// encode, one rank finds a place for every tile by its size, owners write.
//
// In round r every owner has the tiles at positions [r n, (r + 1) n) of its own; n is such that a
// round fits the budget and that there are a few, so that one round is written while the next is
// encoded; steps of some MiB have one, and with it one exchange of sizes.
//
// Invariants: in every round all receives are posted before anything is sent; a rank holds of one
// round the tiles that it owns, dense and encoded, what arrives for them (more than that only where
// blocks overlap), and a bounded buffer of what it sends; what one rank meets is thrown on all, at
// the end of the round; what a write met, at the end of all.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "exec/transport/transport.hpp"
#include "exec/write/executor.hpp"
#include "layout/encoding.hpp"
#include "plan/tile_owners.hpp"

namespace sluice::exec {

struct EncodedVariable {
  std::uint32_t variable = 0;
  model::Dims shape;
  model::Dims tile;
  codec::Pipeline pipeline;
};

/// Bytes of a tile, dense or encoded, where it does not shrink.
std::uint64_t most_encoded_bytes(const EncodedVariable& variable, std::uint32_t element_bytes);

struct EncodedWork {
  std::span<const model::Definition> definitions;
  std::span<const std::uint64_t> name_hashes;  ///< one a definition
  std::span<const model::Block> blocks;
  std::span<const layout::Portion> portions;  ///< of this rank, of encoded variables only
  std::vector<EncodedVariable> variables;     ///< as plan::TileOwners numbers them
  plan::RankList owners;                      ///< ranks that have the file open
  std::uint64_t budget_bytes = 0;
  bool checksums = false;
  std::uint32_t rank = 0;         ///< this one's, as records name it
  storage::File* file = nullptr;  ///< on owners
  WriteBehind* writer = nullptr;  ///< idle
  std::size_t threads = 1;
  /// On rank 0: the places of tiles; called once a round.
  std::function<std::vector<std::uint64_t>(std::span<const layout::EncodedTile>)> place;
};

struct EncodedResult {
  std::vector<std::uint64_t> words;  ///< checksum records, one a portion, in order
  std::uint64_t moved_bytes = 0;     ///< to other ranks, dense
  std::uint64_t written_bytes = 0;   ///< by this rank, encoded
};

/// Collective. Writes all tiles that somebody has a part of.
EncodedResult write_encoded(Transport& transport, const EncodedWork& work);

}  // namespace sluice::exec
