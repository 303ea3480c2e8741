#include "commit/write/tile_fill.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "layout/portion.hpp"
#include "model/convert.hpp"
#include "model/fill.hpp"
#include "model/round_up.hpp"

namespace sluice::commit {

namespace {

void fill_of_file(std::span<std::byte> bytes, const layout::Placement& placement,
                  const model::Definition& definition) {
  model::fill(bytes, definition.type, definition.fill);
  if (placement.big_endian()) {
    model::swap_bytes(bytes, definition.type);
  }
}

}  // namespace

void fill_tiles_in_turn(storage::File& file, const layout::Placement& placement,
                        const model::Definition& definition, std::uint64_t writers,
                        std::uint64_t index) {
  constexpr std::uint64_t piece_bytes = layout::portion_bytes;
  std::vector<std::byte> filled;
  std::uint64_t number = 0;
  for (std::uint64_t tile = 0; tile < placement.tiles(); ++tile) {
    if (placement.address(tile) == layout::absent) {
      continue;  // beyond the rows of this step
    }
    const std::uint64_t tile_bytes = placement.tile_bytes(tile);
    for (std::uint64_t at = 0; at < tile_bytes; at += piece_bytes, ++number) {
      if (number % writers != index) {
        continue;
      }
      filled.resize(std::min(piece_bytes, tile_bytes - at));
      fill_of_file(filled, placement, definition);
      file.write(placement.address(tile) + at, filled);
    }
  }
}

void fill_own_tiles(storage::File& file, const layout::Placement& placement,
                    const model::Definition& definition, const plan::TileMap& map, int rank) {
  // Pieces begin at an element: those at the border of two owners are cut from a longer filled one.
  const std::uint64_t element = placement.element_bytes();
  std::vector<std::byte> filled;
  for (std::uint64_t tile = 0; tile < placement.tiles(); ++tile) {
    const std::uint64_t begin = placement.address(tile);
    if (begin == layout::absent) {
      continue;
    }
    const std::uint64_t tile_bytes = placement.tile_bytes(tile);
    for (std::uint64_t at = 0; at < tile_bytes;) {
      const plan::Stretch stretch = map.stretch_at(begin + at);
      const std::uint64_t length =
          std::min({stretch.length, tile_bytes - at, layout::portion_bytes});
      if (map.writers()[stretch.writer] == rank) {
        const std::uint64_t before = at % element;
        filled.resize(model::round_up(before + length, element));
        fill_of_file(filled, placement, definition);
        file.write(begin + at, std::span(filled).subspan(before, length));
      }
      at += length;
    }
  }
}

}  // namespace sluice::commit
