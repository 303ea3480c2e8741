// The tiles of a compressed variable in a file that is read: their addresses, and decoding.
//
// Invariants: no size in a file becomes memory before it was compared with the length of the file
// (for stored sizes) or with a bound (for decoded sizes), and what decoding does not fill of it is
// not touched; every error names the variable and the tile.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codec/filter.hpp"
#include "layout/placement.hpp"
#include "storage/storage.hpp"

namespace sluice::layout {

struct StoredVariable;

/// A tile has fewer bytes: HDF5 refuses longer chunks, and so does Sluice when it writes.
inline constexpr std::uint64_t longest_tile_bytes = 4ULL << 30;
/// The longest tile that is decoded. One at a time is, however long, so that what was written can
/// be read; a budget that was made smaller bounds what a file may cost.
std::uint64_t longest_tile(std::uint64_t budget_bytes);

/// `placement` has the addresses; there is one size and one mask for each of its entries.
struct EncodedTiles {
  Placement placement;
  std::vector<std::uint64_t> sizes = {};
  std::vector<std::uint32_t> masks = {};

  void write_to(model::ByteWriter& out) const;
  static EncodedTiles read_from(model::ByteReader& in);
};

/// Reads and decodes tiles; used by one thread at a time.
class TileDecoder {
 public:
  /// `name`: the variable (and step), for messages. A tile may have at most `most_bytes`.
  TileDecoder(const codec::Pipeline& pipeline, std::string name, std::uint64_t most_bytes);

  /// Error over_budget if tiles are larger than allowed.
  void require_small(const EncodedTiles& tiles) const;
  /// Decodes a tile that exists; `dense` has space for tile_bytes(). Error damaged.
  void read(storage::File& file, const EncodedTiles& tiles, std::uint64_t tile,
            std::span<std::byte> dense);

 private:
  codec::Coder coder_;
  std::string name_;
  std::uint64_t most_bytes_;
  std::vector<std::byte> stored_;
};

/// A step of a variable.
struct Which {
  std::uint32_t variable = 0;
  std::uint64_t step = 0;
  friend bool operator==(const Which&, const Which&) = default;
};

/// The tile that was decoded last: boxes are requested in portions of tiles.
struct LastTile {
  Which which;
  std::uint64_t tile = absent;
  codec::ScratchMemory dense;
};

/// Reads a box on one rank into dense little-endian elements. `tiles` are of the same step, and
/// include all tiles of the box. Error damaged.
void read_encoded(storage::File& file, const StoredVariable& stored, const EncodedTiles& tiles,
                  const Which& which, const model::Box& box, std::span<std::byte> out,
                  LastTile& last);

}  // namespace sluice::layout
