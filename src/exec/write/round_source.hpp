// The data of a rank in an exchange in rounds: pieces of placements, and their packed bytes when a
// window needs them.
//
// Invariants: items ascend in the file; every byte of an item is requested exactly once, though not
// always in order.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "layout/runs.hpp"
#include "plan/tile_map.hpp"

namespace sluice::exec {

struct RoundItem {
  std::uint32_t placement = 0;  ///< index into the commit's; placements.size(): the checksums'
  layout::Piece piece;
  layout::RunList runs;
};

class RoundSource {
 public:
  struct Bytes {
    std::span<const std::byte> bytes;
    bool stays = false;  ///< valid until the end of the exchange; otherwise until the next call of
                         ///< bytes()
  };
  virtual ~RoundSource() = default;
  const std::vector<RoundItem>& items() const noexcept { return items_; }
  /// Packed bytes [from, to) of an item. May throw what packing throws.
  virtual Bytes bytes(std::size_t item, std::uint64_t from, std::uint64_t to) = 0;

 protected:
  std::vector<RoundItem> items_;
};

/// For each writer that receives something: the items (ascending) that have bytes in `range` of its
/// own space.
using ItemsByWriter = std::map<std::uint32_t, std::vector<std::size_t>>;
ItemsByWriter items_by_writer(const std::vector<RoundItem>& items, const plan::TileMap& tiles,
                              const plan::OwnRange& range);

}  // namespace sluice::exec
