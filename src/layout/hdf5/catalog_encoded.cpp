// Compressed datasets: where their chunks are, and reading them on one rank.
#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/types.hpp"
#include "model/convert.hpp"
#include "model/fill.hpp"

namespace sluice::layout::hdf5 {

using model::Box;
using model::Dims;

namespace {

/// Memory for one tile where nobody gave a budget.
constexpr std::uint64_t most_tile_bytes = 1ULL << 30;

}  // namespace

EncodedTiles Catalog::locate_encoded(std::uint32_t variable, std::uint64_t step,
                                     const Box& region) {
  const QuietErrors quiet;
  const StoredVariable& stored = variables_.at(variable);
  const model::Definition& definition = stored.definition;
  const std::uint64_t count =
      definition.shape.volume() == 0 ? 0 : grid_of(definition.shape, stored.tile).volume();
  std::vector<std::uint64_t> addresses(count, absent);
  EncodedTiles tiles;
  tiles.sizes.resize(count, 0);
  tiles.masks.resize(count, 0);
  visit_chunks(variable, step, region, state_.file->size() + 1,
               [&](std::uint64_t tile, const Extent& extent, std::uint32_t mask) {
                 addresses[tile] = extent.offset;
                 tiles.sizes[tile] = extent.length;
                 tiles.masks[tile] = mask;
               });
  tiles.placement =
      Placement(variable, definition.type.bytes, definition.shape, stored.tile, addresses);
  return tiles;
}

void Catalog::read_encoded(std::uint32_t variable, std::uint64_t step, const Box& box,
                           std::span<std::byte> out) {
  const StoredVariable& stored = variables_.at(variable);
  const model::Definition& definition = stored.definition;
  const EncodedTiles tiles = locate_encoded(variable, step, box);
  TileDecoder decoder(stored.filters, definition.name, most_tile_bytes);
  decoder.require_small(tiles);
  for (const Piece& piece : cut(tiles.placement, box)) {
    const std::uint64_t tile = piece.tile_index;
    const bool is_known =
        decoded_.tile == tile && decoded_.variable == variable && decoded_.step == step;
    if (!is_known) {
      decoded_.tile = absent;
      decoded_.dense.resize(tiles.placement.tile_bytes());
      if (tiles.placement.address(tile) == absent) {
        model::fill(decoded_.dense, definition.type, definition.fill);
      } else {
        decoder.read(*state_.file, tiles, tile, decoded_.dense);
        if (stored.big_endian) {
          model::swap_bytes(decoded_.dense, definition.type);
        }
      }
      decoded_.variable = variable;
      decoded_.step = step;
      decoded_.tile = tile;
    }
    const Box whole{tiles.placement.tile_box(tile).start, stored.tile};
    model::copy_box(decoded_.dense.data(), whole, out.data(), box, piece.box,
                    definition.type.bytes);
  }
}

}  // namespace sluice::layout::hdf5
