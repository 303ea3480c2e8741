// The part of an owner in a commit with compressed variables, round by round: the dense tiles that
// the ranks send to provisional addresses (EncodedRounds) are encoded, their sizes go to rank 0,
// which answers with addresses, and the encoded tiles are written there. The caller transfers sizes
// and addresses.
//
// Invariants: for each round encode() and write() are called once, in this order, even after a
// failure, by one thread; memory is the tiles of one round; elements that no rank sends have the
// value of model::Definition::hole_fill(); a tile that received nothing is not written.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/encode/encoded_rounds.hpp"
#include "exec/encode_pool.hpp"
#include "exec/notify/completion_tracker.hpp"
#include "exec/write/window.hpp"
#include "exec/write/work.hpp"
#include "layout/layout.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {

/// The report of an owner to rank 0 for a round. Empty bytes mean no tiles.
struct RoundSizes {
  Outcome outcome;
  std::vector<layout::EncodedTile> tiles;

  std::vector<std::byte> to_bytes() const;
  static RoundSizes from_bytes(std::span<const std::byte> bytes);
};

/// The answer of rank 0.
struct RoundPlaces {
  Outcome outcome;
  std::vector<std::byte> plan;  ///< round 0: the layout::CommitPlan; else empty
  std::vector<std::uint64_t> addresses;
  struct End {
    std::uint64_t sender;
    std::uint64_t end;  ///< the number of addresses up to and including its own
  };
  /// In the answer to all senders together: of those that have addresses, ascending.
  std::vector<End> ends = {};

  /// The part for one sender.
  RoundPlaces of(std::size_t sender) const;
  std::vector<std::byte> to_bytes() const;
  static RoundPlaces from_bytes(std::span<const std::byte> bytes);
};

/// On rank 0: the answer to all senders together. `place` returns the addresses of tiles, and the
/// plan; it is not called if a sender failed, or there is an `earlier` failure.
RoundPlaces place_round(
    std::uint64_t commit, std::span<const RoundSizes> sizes, const std::exception_ptr& earlier,
    int rank, const std::function<RoundPlaces(std::span<const layout::EncodedTile>)>& place);

class RoundEncoder {
 public:
  struct Config {
    EncodingRoom& room;
    std::size_t threads;
    int rank;
    std::string path;
  };
  using Write = std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>;

  /// On an owner. What `config` refers to must outlive the object.
  RoundEncoder(const Config& config, std::uint64_t commit, const EncodedRounds& rounds,
               std::span<const model::Definition> definitions);
  ~RoundEncoder();

  // -- the dense bytes of the current round, at their provisional addresses
  // -------------------------
  /// Accepts writes of any thread, one at a time.
  storage::File& dense_file() noexcept;
  /// Memory in which they are assembled, valid until encode().
  WindowMemory dense_memory();

  /// All bytes of the round have arrived. `earlier`: a failure of the transfer.
  RoundSizes encode(const std::exception_ptr& earlier);
  /// Writes the round to its addresses, if nothing failed.
  void write(const RoundPlaces& places, const Write& write);
  /// The failures of this rank so far, and those reported to it.
  const std::exception_ptr& failure() const noexcept { return failure_; }
  void note(const std::exception_ptr& failure) { failure_ = failure_ ? failure_ : failure; }
  void rethrow() const;
  std::uint64_t round() const noexcept { return round_; }

 private:
  class DenseFile;
  struct Element {
    Type type;
    std::vector<std::byte> fill = {};
  };
  void make_room();
  void take(std::uint64_t offset, std::span<const std::byte> bytes);
  std::span<std::byte> room_of(std::uint64_t position) const;
  bool fill_holes(std::uint64_t position, std::uint64_t dense_bytes, const Element& element);
  void encode_tiles(RoundSizes& sizes);
  void write_tiles(const std::vector<std::uint64_t>& addresses, const Write& write);

  const Config config_;
  const std::uint64_t commit_;
  const EncodedRounds rounds_;
  const int own_;                  ///< index of this rank among the owners
  std::vector<Element> elements_;  ///< by index of a variable
  std::uint64_t round_ = 0;
  bool has_room_ = false;  ///< has anything arrived in the current round?
  std::vector<EncodedBytes> encoded_;
  std::exception_ptr failure_;
  std::unique_ptr<DenseFile> dense_;
};

}  // namespace sluice::exec
