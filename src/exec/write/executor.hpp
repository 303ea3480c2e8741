// Carries out a plan: packs portions, takes their checksums, moves bytes to their writers, writes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "exec/checksum_record.hpp"
#include "exec/encode_pool.hpp"
#include "exec/notify/bits.hpp"
#include "exec/write/sink.hpp"
#include "layout/layout.hpp"
#include "model/block.hpp"
#include "model/definition.hpp"
#include "plan/plan.hpp"

namespace sluice::exec {

class Ring;

struct WindowMemory;

/// Of the thread that writes: where it encodes tiles.
struct EncodingRoom {
  std::unique_ptr<Staging> staging;
  std::uint64_t budget_bytes = 0;
  Bits came;  ///< which bytes of the staging came in the round under way
  TileEncoder encoder;
};

/// What one rank brings to a commit.
struct Work {
  std::span<const model::Definition> definitions;
  std::span<const std::uint64_t> name_hashes;  ///< one a definition
  std::span<const model::Block> blocks;
  std::span<const layout::Portion> portions;  ///< of the blocks; placements need not be known
  const layout::CommitPlan* commit = nullptr;
  std::uint64_t first_word = 0;  ///< where this rank's checksum words begin in the commit's
  std::span<const std::uint64_t> earlier_words = {};  ///< records that stand before the portions'
  storage::File* file = nullptr;                      ///< open on writers only
  std::function<WindowMemory()> memory =
      {};                  ///< Flow::two_phase: takes a writer's bytes, not `file`
  std::uint32_t rank = 0;  ///< this one's, as records name it
  /// Takes the records of the portions where the commit has no place for any.
  std::vector<std::uint64_t>* records_out = nullptr;

  bool wants_records() const { return commit->checksums.has_value() || records_out != nullptr; }
};

/// Memory that is kept from commit to commit, and from file to file: first touches cost more than
/// writes.
struct Buffers {
  WriteBehind writer;
  std::vector<std::byte> scratch;
  // for rounds
  std::vector<std::byte> sent = {};
  std::vector<std::byte> received = {};
  std::vector<std::vector<std::byte>> packed = {};
  std::shared_ptr<Ring> ring = {};  ///< of the node, where windows are written in the background

  /// Of compressed variables.
  std::shared_ptr<EncodingRoom> encoding = std::make_shared<EncodingRoom>();

  /// All staging that was ever used, but for that.
  std::uint64_t bytes() const;
  /// Takes over what a file before left in the pool, if it suits the budget.
  void take_from_pool(std::uint64_t budget_bytes);
  /// Leaves everything to files after this one. When nothing is on its way; the ring must be of
  /// nobody's use any more.
  void give_to_pool(double idle_s);
};

/// Collective. Returns the bytes this rank wrote. What this rank meets is thrown at the end, after
/// its part in the exchange: the caller agrees with the other ranks.
std::uint64_t carry_out(Transport& transport, const plan::Plan& plan, const Work& work,
                        Buffers& buffers);

}  // namespace sluice::exec
