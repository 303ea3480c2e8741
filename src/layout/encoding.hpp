// Compressed variables: the filters of a definition, and encoded tiles.
//
// Invariants: a pure function of the definition, so that every rank and the planner have the same
// filters; encoded tiles differ in size, and their addresses are known only when all sizes are.
#pragma once

#include <cstdint>

#include "codec/filter.hpp"
#include "layout/chunking.hpp"
#include "model/definition.hpp"

namespace sluice::layout {

/// The filters of a variable. Empty ones have none; scalars, and coordinates (with the name of
/// their one dimension), by which others are found, have only those of a codec::stored_text().
codec::Pipeline pipeline_of(const model::Definition& definition);
inline bool is_encoded(const model::Definition& definition) {
  return !pipeline_of(definition).empty();
}

/// The default compression of a file does not apply to smaller variables.
inline constexpr std::uint64_t worth_encoding_bytes = 4096;

/// The tile of a compressed variable: at most 4 MiB, whole rows if they fit, such that the blocks
/// of ranks start at tile boundaries if a tile of 256 KiB or more allows it. `least_bytes`: where
/// it is more than these, it takes their place.
model::Dims choose_encoded_tile(const model::Dims& shape, std::uint64_t element_bytes,
                                const Decomposition& decomposition, std::uint64_t least_bytes);

/// Tiles of so many bytes are few enough for readers (layout/plausible); 0: any are, since only the
/// rows that a step has count.
std::uint64_t least_tile_bytes(const model::Definition& definition);

/// The tile that the caller asked for, no larger than the shape: HDF5 refuses larger ones. Empty:
/// the caller did not ask.
model::Dims bounded_chunk(const model::Definition& definition);

/// The tile of a variable without filters, if the caller did not ask for one. `most_tile_bytes`:
/// as in Format.
model::Dims choose_plain_tile(const model::Definition& definition,
                              const Decomposition& decomposition, std::uint64_t most_tile_bytes);

/// The most bytes of a tile of a varying variable, whose steps are whole tiles: an eighth of the
/// step that is written first, between 4 KiB (64 KiB if tiles are encoded) and 4 MiB. In a store a
/// tile is a file: as much as that step, 64 KiB to 4 MiB.
std::uint64_t most_varying_tile_bytes(std::uint64_t first_step_bytes, bool encodes, bool is_store);

/// The tile of a variable that no commit has touched: there are no blocks to choose it by.
model::Dims untouched_tile(const model::Definition& definition, std::uint64_t most_tile_bytes);

/// A tile that its owner has encoded.
struct EncodedTile {
  std::uint32_t variable = 0;
  std::uint32_t mask = 0;  ///< of the filters that were skipped
  std::uint64_t tile = 0;
  std::uint64_t bytes = 0;
};

}  // namespace sluice::layout
