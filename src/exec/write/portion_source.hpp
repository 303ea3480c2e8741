// The sources of an exchange in rounds: the portions of a rank, and the words of their checksums.
//
// Invariants: items ascend in the file; the checksum of a portion is computed once, on the way;
// portions that are in memory as the file needs them are never copied here; others are packed into
// at most `packed_bytes` of memory (one portion at least) and packed again if that was too little
// to keep them.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "codec/checksum.hpp"
#include "exec/write/emitter.hpp"
#include "exec/write/round_source.hpp"

namespace sluice::exec {

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
  /// Memory of a packed portion.
  struct Slot {
    std::size_t item = 0;
    std::size_t number = 0;  ///< among the buffers
  };
  using Slots = std::list<Slot>;
  struct State {
    std::uint32_t portion = 0;
    bool is_packed = false;  ///< in `slot`
    Slots::iterator slot;
    std::unique_ptr<codec::Checksum> checksum;  ///< while it is under way
    std::uint64_t hashed = 0;
    std::uint64_t value = 0;
  };

  void size_slots(std::uint64_t packed_bytes);
  std::span<const std::byte> packed(std::size_t item);
  void take_slot(std::size_t item);
  void hash(State& state, std::uint64_t from, std::uint64_t to, std::span<const std::byte> all);

  const Work& work_;
  const Packer packer_;
  Buffers& buffers_;
  std::vector<State> states_;
  std::uint64_t slot_bytes_ = 0;
  std::uint64_t most_slots_ = 1;
  Slots slots_;  ///< the least recently used first
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
