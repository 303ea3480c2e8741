// What the execution of a plan is given: the data of a rank, and memory that is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "exec/checksum_record.hpp"
#include "exec/encode_pool.hpp"
#include "exec/exchange/send_buffer.hpp"
#include "exec/transport/given_up.hpp"
#include "exec/write/sink.hpp"
#include "layout/layout.hpp"
#include "model/bits.hpp"
#include "model/block.hpp"
#include "model/definition.hpp"
#include "plan/plan.hpp"

namespace sluice::exec {

class Ring;

struct WindowMemory;

/// Used by the writer thread if it encodes tiles.
struct EncodingRoom {
  std::unique_ptr<Staging> staging;
  std::uint64_t budget_bytes = 0;
  model::Bits came;  ///< which bytes of the staging came in the round under way
  TileEncoder encoder;
};

/// The data of one rank for a commit.
struct Work {
  std::span<const model::Definition> definitions;
  std::span<const std::uint64_t> name_hashes;  ///< one a definition
  std::span<const model::Block> blocks;
  std::span<const layout::Portion> portions;  ///< of the blocks; the placements may be unknown
  const layout::CommitPlan* commit = nullptr;
  std::uint64_t first_word = 0;  ///< where this rank's checksum words start among those of the
                                 ///< commit
  std::span<const std::uint64_t> earlier_words = {};  ///< records before those of the portions
  storage::File* file = nullptr;                      ///< open on writers only
  std::function<WindowMemory()> memory =
      {};                  ///< Flow::two_phase: receives a writer's bytes instead of `file`
  std::uint32_t rank = 0;  ///< the number of this rank in records
  /// Receives the records of the portions if the commit has no place for them.
  std::vector<std::uint64_t>* records_out = nullptr;

  bool wants_records() const { return commit->checksums.has_value() || records_out != nullptr; }
};

/// Memory that is kept from commit to commit, and from file to file: first touches cost more than
/// writes.
struct Buffers {
  WriteBehind writer;
  std::vector<std::byte> scratch;
  ExchangeBuffers rounds = {};
  std::vector<std::vector<std::byte>> packed = {};
  std::shared_ptr<Ring> ring = {};  ///< of the node, if windows are written in the background

  /// Of compressed variables.
  std::shared_ptr<EncodingRoom> encoding = std::make_shared<EncodingRoom>();
  MessageMark mark = {};

  ~Buffers() { mark.keep_used(scratch, rounds, packed); }

  /// All staging memory ever used, except that one.
  std::uint64_t bytes() const;
  /// Takes over what a file before left in the pool, if it suits the budget.
  void take_from_pool(std::uint64_t budget_bytes);
  /// Leaves everything to files after this one. When nothing is on its way; the ring must be of
  /// nobody's use any more.
  void give_to_pool(double idle_s);
};

}  // namespace sluice::exec
