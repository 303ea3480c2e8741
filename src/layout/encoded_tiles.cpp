#include "layout/encoded_tiles.hpp"

#include <algorithm>
#include <utility>

#include "layout/read_ahead.hpp"
#include "layout/stored_variable.hpp"
#include "model/convert.hpp"
#include "model/fill.hpp"
#include "sluice/error.hpp"
#include "sluice/options.hpp"

namespace sluice::layout {

std::uint64_t longest_tile(std::uint64_t budget_bytes) {
  const bool is_small = budget_bytes < Options{}.budget_bytes;
  return is_small ? budget_bytes / 2 : std::max(budget_bytes / 2, longest_tile_bytes);
}

void EncodedTiles::write_to(model::ByteWriter& out) const {
  placement.write_to(out);
  out.put(sizes);
  out.put(masks);
}

EncodedTiles EncodedTiles::read_from(model::ByteReader& in) {
  EncodedTiles tiles{Placement::read_from(in)};
  tiles.sizes = in.get_vector<std::uint64_t>();
  tiles.masks = in.get_vector<std::uint32_t>();
  return tiles;
}

TileDecoder::TileDecoder(const codec::Pipeline& pipeline, std::string name,
                         std::uint64_t most_bytes)
    : coder_(pipeline), name_(std::move(name)), most_bytes_(most_bytes) {}

void TileDecoder::require_small(const EncodedTiles& tiles) const {
  if (tiles.placement.tile_bytes() > most_bytes_) {
    throw Error(Code::over_budget,
                name_ + ": a chunk has " + std::to_string(tiles.placement.tile_bytes()) +
                    " bytes once it is decoded, and memory for one may have " +
                    std::to_string(most_bytes_) + ": raise the budget, if the file can be trusted");
  }
}

void TileDecoder::read(storage::File& file, const EncodedTiles& tiles, std::uint64_t tile,
                       std::span<std::byte> dense) {
  require_small(tiles);
  const std::uint64_t entry = tiles.placement.entry_of(tile);
  const std::uint64_t size = tiles.sizes.at(entry);
  const std::string what =
      name_ + ", chunk at " + tiles.placement.tile_box(tile).start.text() + ": ";
  const std::uint64_t length = file.size();
  const std::uint64_t address = tiles.placement.address(tile);
  if (size > length || address > length - size) {
    throw Error(Code::damaged, what + "its " + std::to_string(size) + " bytes at " +
                                   std::to_string(address) + " are beyond the end of the file");
  }
  // Encoding never makes a tile much longer; an index that says so is wrong.
  if (size > 2 * dense.size() + 4096) {
    throw Error(Code::damaged, what + "the index says " + std::to_string(size) +
                                   " bytes for a tile of " + std::to_string(dense.size()));
  }
  stored_.resize(size);
  if (file.read(address, stored_) != size) {
    throw Error(Code::truncated, what + "the file ends inside");
  }
  try {
    coder_.decode(stored_, tiles.masks.at(entry), dense);
  } catch (const Error& e) {
    throw Error(e.code(), what + e.what());
  }
}

void read_encoded(storage::File& file, const StoredVariable& stored, const EncodedTiles& tiles,
                  const Which& which, const model::Box& box, std::span<std::byte> out,
                  LastTile& last) {
  const model::Definition& d = stored.definition;
  TileDecoder decoder(stored.filters, d.name, longest_tile_bytes);
  decoder.require_small(tiles);
  std::vector<std::uint64_t> wanted;
  if (file.reads_ahead()) {
    for_each_piece(tiles.placement.shape(), tiles.placement.tiling(), box, [&](const Piece& piece) {
      if (wanted.size() < most_told) {
        wanted.push_back(piece.tile_index);
      }
    });
  }
  const auto ahead = read_ahead(file, tiles.placement, tiles.sizes, wanted);
  for_each_piece(tiles.placement.shape(), tiles.placement.tiling(), box, [&](const Piece& piece) {
    if (last.tile != piece.tile_index || last.which != which) {
      last.tile = absent;
      const auto dense = last.dense.take(tiles.placement.tile_bytes(piece.tile_index));
      if (tiles.placement.address(piece.tile_index) == absent) {
        model::fill(dense, d.type, d.fill);
      } else {
        decoder.read(file, tiles, piece.tile_index, dense);
        if (stored.big_endian) {
          model::swap_bytes(dense, d.type);
        }
      }
      last.which = which;
      last.tile = piece.tile_index;
    }
    const model::Box whole = tiles.placement.whole_tile(piece.tile_index);
    model::copy_box(last.dense.data(), whole, out.data(), box, piece.box, d.type.bytes);
  });
}

}  // namespace sluice::layout
