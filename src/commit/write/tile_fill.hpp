// Fill values under the data of partial variables in a commit.
#pragma once

#include <cstdint>

#include "layout/placement.hpp"
#include "model/definition.hpp"
#include "plan/tile_map.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// Is there anything to fill? New space reads as zeros.
inline bool needs_fill(const model::Definition& definition) {
  return definition.partial && !definition.fill.empty();
}

/// One of `writers` ranks, number `index`: they take turns over the pieces of all tiles.
void fill_tiles_in_turn(storage::File& file, const layout::Placement& placement,
                        const model::Definition& definition, std::uint64_t writers,
                        std::uint64_t index);
/// The part that `rank` owns of all tiles, so that no tile is written by two.
void fill_own_tiles(storage::File& file, const layout::Placement& placement,
                    const model::Definition& definition, const plan::TileMap& map, int rank);

}  // namespace sluice::commit
