// The data of a rank in an exchange in rounds: pieces of placements, and their packed bytes when a
// window needs them.
//
// Invariants: items ascend in the file; every byte of an item is requested exactly once, though not
// always in order; the checksum of a portion is computed once, on the way; portions that are in
// memory as the file needs them are never copied here; others are packed into at most
// `packed_bytes` of memory (one portion at least) and packed again if that was too little to keep
// them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "codec/checksum.hpp"
#include "exec/write/emitter.hpp"
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

/// The portions of a rank.
class PortionSource final : public RoundSource {
 public:
  PortionSource(const Work& work, std::uint64_t packed_bytes, Buffers& buffers);
  Bytes bytes(std::size_t item, std::uint64_t from, std::uint64_t to) override;
  /// The records of all portions, after every byte was requested.
  RecordWords records();
  /// The same, passed on if the work asks for it.
  void give_records();

 private:
  struct State {
    std::uint32_t portion = 0;
    std::unique_ptr<codec::Checksum> checksum;  ///< while it is under way
    std::uint64_t hashed = 0;
    std::uint64_t value = 0;
  };
  struct Slot {
    std::size_t item = 0;
    std::uint64_t last_use = 0;  ///< 0: nothing is packed there yet
  };

  void size_slots(std::uint64_t packed_bytes);
  std::span<const std::byte> packed(std::size_t item);
  std::size_t slot_for(std::size_t item);
  void hash(State& state, std::uint64_t from, std::uint64_t to, std::span<const std::byte> all);

  const Work& work_;
  const Packer packer_;
  Buffers& buffers_;
  std::vector<State> states_;
  std::uint64_t slot_bytes_ = 0;
  std::uint64_t most_slots_ = 1;
  std::vector<Slot> slots_;
  std::uint64_t clock_ = 0;
  std::vector<std::unique_ptr<codec::Checksum>> idle_;
};

/// The words of the checksum records.
class WordSource final : public RoundSource {
 public:
  WordSource(const Work& work, const RecordWords& records);
  Bytes bytes(std::size_t item, std::uint64_t from, std::uint64_t to) override;

 private:
  const RecordWords& records_;
  std::vector<std::uint64_t> first_;  ///< of each item among the words' bytes
};

}  // namespace sluice::exec
