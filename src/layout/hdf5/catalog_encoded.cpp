// Compressed datasets: where their chunks are, and reading them on one rank.
#include <algorithm>
#include <array>

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
  const hid_t found = dataset(variable, step);
  const std::uint64_t count =
      definition.shape.volume() == 0 ? 0 : grid_of(definition.shape, stored.tile).volume();
  std::vector<std::uint64_t> addresses(count, absent);
  EncodedTiles tiles{
      Placement(variable, definition.type.bytes, definition.shape, stored.tile, addresses),
      std::vector<std::uint64_t>(count, 0), std::vector<std::uint32_t>(count, 0)};
  if (definition.stepped && found >= 0) {
    const Handle space = own(H5Dget_space(found), definition.name);
    std::array<hsize_t, model::max_rank> extents{};
    H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
    if (step >= extents[0]) {
      return tiles;  // netCDF programs extend only the variables that they write
    }
  }
  // Only the address and the size of a chunk are noted: nothing is read into it.
  const std::uint64_t room = state_.file->size() + 1;
  void* placeholder = state_.placeholder.reserve(room);
  const std::size_t lead = definition.stepped ? 1 : 0;
  for (const Piece& piece : cut(tiles.placement, region)) {
    std::array<hsize_t, model::max_rank> at{step};
    const Dims start = tiles.placement.tile_box(piece.tile_index).start;
    std::copy(start.begin(), start.end(), at.begin() + lead);
    std::uint32_t mask = 0;
    state_.noted.reset();
    if (H5Dread_chunk(found, H5P_DEFAULT, at.data(), &mask, placeholder) < 0) {
      const std::string why = state_.failure.empty() ? last_error() : state_.failure;
      if (why.find("chunk address") == std::string::npos &&
          why.find("storage is not initialized") == std::string::npos) {
        throw Error(Code::damaged,
                    definition.name + ", chunk at " + start.text() + ": chunk index: " + why);
      }
      continue;  // not allocated: reads as the fill value
    }
    if (!state_.noted) {
      throw Error(Code::damaged, definition.name + ", chunk at " + start.text() +
                                     ": the index says that it has no bytes");
    }
    addresses[piece.tile_index] = state_.noted->offset;
    tiles.sizes[piece.tile_index] = state_.noted->length;
    tiles.masks[piece.tile_index] = mask;
    state_.noted.reset();
  }
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
