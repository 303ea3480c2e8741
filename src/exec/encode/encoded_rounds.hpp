// The transfer of compressed variables to the owners of their tiles: which tiles are encoded
// together, and their provisional addresses until the final addresses are known.
//
// Every tile has one owner (plan::TileOwners). Round r has the tiles at positions [r n, (r + 1) n)
// of every owner, n such that they fit its memory. In a round, tile p of owner w has the
// provisional address (p * owners + w) * stride, so that dense tiles are sent by a TileMap like any
// bytes with an address.
//
// Invariants: a value, the same on every rank for the same arguments; a rank computes the
// provisional addresses of its own tiles and parts only, however many tiles there are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/filter.hpp"
#include "layout/layout.hpp"
#include "plan/rank_list.hpp"
#include "plan/tile_map.hpp"
#include "plan/tile_owners.hpp"

namespace sluice::exec {

struct EncodedVariable {
  std::uint32_t variable = 0;
  model::Dims shape;
  layout::Tiling tiling;
  codec::Pipeline pipeline;
};

class EncodedRounds {
 public:
  /// `room_bytes`: the memory of an owner for one round (one tile at least).
  EncodedRounds(std::vector<EncodedVariable> variables,
                std::span<const model::Definition> definitions, const plan::RankList& owners,
                std::uint64_t room_bytes);

  std::uint64_t rounds() const noexcept { return rounds_; }
  const std::vector<EncodedVariable>& variables() const noexcept { return variables_; }
  const plan::TileOwners& owners() const noexcept { return owners_; }
  /// Memory of a tile, dense or encoded.
  std::uint64_t stride_bytes() const noexcept { return stride_bytes_; }
  /// Tiles of an owner in one round, at most.
  std::uint64_t per_round() const noexcept { return per_round_; }
  /// The memory of an owner for one round.
  std::uint64_t held_bytes() const noexcept { return per_round_ * stride_bytes_; }
  std::uint64_t round_of(std::uint32_t variable, std::uint64_t tile) const;

  /// Provisional addresses of all variables, for the tiles of a round that `rank` owns or has part
  /// of (`parts`, which are of that round); `absent` for all others. No checksums.
  layout::CommitPlan placements(std::uint64_t round, int rank,
                                std::span<const plan::TileOwners::Tile> parts) const;
  plan::TileMap tile_map(std::uint64_t round) const;

 private:
  std::vector<EncodedVariable> variables_;
  std::vector<std::uint32_t> element_bytes_;  ///< by index of variables_
  plan::TileOwners owners_;
  std::uint64_t stride_bytes_ = 0;
  std::uint64_t per_round_ = 1;
  std::uint64_t rounds_ = 1;
};

}  // namespace sluice::exec
