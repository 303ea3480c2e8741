// A writer's part of a commit whose compressed variables are encoded behind the call.
//
// The ranks bring dense tiles to stand-in addresses (EncodedRounds), as they bring any bytes to a
// writer; the writer's thread collects those of one round, encodes them, offers their sizes to rank
// 0, waits for the answer, which says where they go, and writes them. What is not encoded comes to
// stand-in addresses of its own, and is moved to its places once they are known.
//
// Invariants: all but the constructor is called by the thread (or in the order) that carries out
// the writer's jobs; of each round one offer leaves and one answer comes, whatever failed; memory
// is the tiles of one round, and what comes of other variables before places are known.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "exec/encode/encoded_rounds.hpp"
#include "exec/encode_pool.hpp"
#include "exec/notify/completion_tracker.hpp"
#include "exec/write/executor.hpp"
#include "layout/layout.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {

/// What a writer tells rank 0 of a round.
struct Offer {
  Outcome outcome;
  std::vector<layout::EncodedTile> tiles;

  std::vector<std::byte> to_bytes() const;
  static Offer from_bytes(std::span<const std::byte> bytes);
};

/// What rank 0 says to that.
struct Answer {
  Outcome outcome;
  std::vector<std::byte> plan;  ///< round 0: the layout::CommitPlan; else empty
  std::vector<std::uint64_t> addresses;

  std::vector<std::byte> to_bytes() const;
  static Answer from_bytes(std::span<const std::byte> bytes);
};

class EncodeBehind {
 public:
  struct Ground {
    storage::File& file;
    CompletionTracker& tracker;
    EncodingRoom& room;
    std::size_t threads;
    int rank;
    bool may_wait;  ///< for answers; else they are there when finish() is called
  };
  /// `plain`: stand-ins of what is not encoded. What `ground` refers to outlives the object.
  EncodeBehind(const Ground& ground, std::uint64_t number, const EncodedRounds& rounds,
               std::span<const model::Definition> definitions,
               std::shared_ptr<const layout::CommitPlan> plain);
  ~EncodeBehind();

  /// Takes the dense bytes of the round under way.
  storage::File& dense_file() noexcept;
  /// Takes what is not encoded.
  storage::File& plain_file() noexcept;

  /// All of the round has come. `earlier`: what went wrong with it.
  void offer(const std::exception_ptr& earlier);
  bool is_answered() const { return ground_.tracker.has_message_from_root(); }
  /// Takes the answer and writes the round. `earlier` as above.
  void finish(const std::exception_ptr& earlier);
  /// After the last round: throws what went wrong.
  void rethrow() const;
  /// After that: writes what came of other variables before their places were known.
  void write_kept();

 private:
  class DenseFile;
  class PlainFile;
  struct Slot {
    std::uint32_t variable = 0;  ///< index into EncodedRounds::variables()
    std::uint64_t tile = 0;
    bool came = false;
  };
  struct Fill {
    Type type;
    std::vector<std::byte> value = {};  ///< as Definition::fill
  };
  void take(std::uint64_t offset, std::span<const std::byte> bytes);
  void begin_tile(std::uint64_t position);
  std::span<std::byte> room_of(std::uint64_t position) const;
  void encode(Offer& offer);
  void write_round(const std::vector<std::uint64_t>& addresses);
  Answer await_answer();
  void note(const std::exception_ptr& failure);

  const Ground ground_;
  const std::uint64_t number_;
  const EncodedRounds rounds_;
  const int own_;            ///< index of this rank among the owners
  std::vector<Fill> fills_;  ///< by index of a variable
  std::uint64_t round_ = 0;
  std::vector<Slot> slots_;  ///< of the round under way, by position in it
  std::vector<CookedTile> cooked_;
  std::exception_ptr failure_;
  std::unique_ptr<DenseFile> dense_;
  std::unique_ptr<PlainFile> plain_;
};

}  // namespace sluice::exec
