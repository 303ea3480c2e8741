// Where the tiles of a compressed variable stand in a file that is read, and what they were.
//
// Invariants: nothing that a file says of itself is taken for a size of memory before it was
// compared with the file's length (of what is stored) or with a budget (of what comes out); every
// error names the variable and the tile.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codec/filter.hpp"
#include "layout/placement.hpp"
#include "storage/storage.hpp"

namespace sluice::layout {

struct StoredVariable;

/// `placement` has the addresses; sizes and masks are one a tile.
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
  /// `name`: of the variable (and step) in messages. A tile may have at most `most_bytes`.
  TileDecoder(const codec::Pipeline& pipeline, std::string name, std::uint64_t most_bytes);

  /// Error over_budget where tiles are larger than was allowed.
  void require_small(const EncodedTiles& tiles) const;
  /// The dense bytes of a tile that is there; `dense` has tile_bytes() of room. Error damaged.
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

/// The tile that was decoded last: boxes come in portions of tiles.
struct LastTile {
  Which which;
  std::uint64_t tile = absent;
  std::vector<std::byte> dense;
};

/// Reads a box on one rank into dense little-endian elements. `tiles` are of the same step, and
/// have all that the box needs. Error damaged.
void read_encoded(storage::File& file, const StoredVariable& stored, const EncodedTiles& tiles,
                  const Which& which, const model::Box& box, std::span<std::byte> out,
                  LastTile& last);

}  // namespace sluice::layout
