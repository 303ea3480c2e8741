// Compressed datasets: the addresses of their chunks, and reading them on one rank.
#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/handle.hpp"
#include "layout/hdf5/library.hpp"
#include "layout/hdf5/types.hpp"
#include "layout/plausible.hpp"

namespace sluice::layout::hdf5 {

using model::Box;

namespace {

/// One bit for each filter: skipped.
constexpr std::uint32_t no_filter = ~std::uint32_t{0};

}  // namespace

EncodedTiles Catalog::locate_encoded(std::uint32_t variable, std::uint64_t step,
                                     const Box& region) {
  const QuietErrors quiet;
  const StoredVariable& stored = variables_.at(variable);
  const model::Definition& definition = stored.definition;
  const std::uint64_t count =
      definition.shape.volume() == 0 ? 0 : grid_of(definition.shape, stored.tile).volume();
  require_plausible_tiles(definition.name + ": a step", count,
                          most_tiles_of_a_file(state_.file->size()));
  std::vector<std::uint64_t> addresses(count, absent);
  EncodedTiles tiles;
  tiles.sizes.resize(count, 0);
  tiles.masks.resize(count, 0);
  const hid_t found = dataset(variable, step);
  const bool plain_edges = found >= 0 && hdf5::has_plain_edges(found, definition.name);
  visit_chunks(variable, step, region, state_.file->size() + 1,
               [&](std::uint64_t tile, const Extent& extent, std::uint32_t mask) {
                 const bool is_edge =
                     tile_box(definition.shape, stored.tile, tile).count != stored.tile;
                 addresses[tile] = extent.offset;
                 tiles.sizes[tile] = extent.length;
                 tiles.masks[tile] = plain_edges && is_edge ? no_filter : mask;
               });
  tiles.placement =
      Placement(variable, definition.type.bytes, definition.shape, stored.tile, addresses);
  return tiles;
}

}  // namespace sluice::layout::hdf5
