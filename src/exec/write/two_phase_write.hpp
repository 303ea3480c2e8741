// The exchange in rounds: sends every rank's bytes to the writers that own their file ranges.
//
// In round r every writer assembles window r of its own space. Rounds come in batches: at the start
// of one, ranks announce to each writer which of their pieces are in its windows (a piece is a box:
// both sides compute the runs, and so the lengths of all messages), then the payload follows
// without further announcements.
//
// Invariants: in every round all receives are posted before anything is sent, so that a send waits
// only for the progress of its receiver; a writer receives at most one window's bytes at a time
// (ranks with more than a window, which requires overlapping blocks, are received one after the
// other); a sender holds at most one window's bytes packed for sending; after a failure a rank
// sends what it announced, with arbitrary content, until the end of the batch, where all stop
// together.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "exec/exchange/send_buffer.hpp"
#include "exec/transport/transport.hpp"
#include "exec/write/round_source.hpp"
#include "exec/write/window.hpp"
#include "exec/write/work.hpp"
#include "plan/tile_map.hpp"

namespace sluice::exec {

class TwoPhaseWrite {
 public:
  /// `window` on writers, else nullptr. `placements`: the table that RoundItem::placement indexes.
  TwoPhaseWrite(Transport& transport, const plan::TileMap& tiles, std::uint64_t window_bytes,
                std::vector<const layout::Placement*> placements, Window* window, Buffers& buffers);

  /// Collective. Sends all bytes of all sources whose own-space positions are in `range` to their
  /// writers. False on every rank if a rank has failed.
  bool run(RoundSource& source, const plan::OwnRange& range);
  /// Before run(): this rank cannot take part (null: it can), so no rank sends anything.
  void fail(const std::exception_ptr& failure) noexcept { failure_ = failure; }
  /// The failure of this rank, if any.
  const std::exception_ptr& failure() const noexcept { return failure_; }

 private:
  /// The pieces that one rank has for this one in a batch.
  struct Feed {
    int rank = 0;
    std::vector<layout::RunList> pieces;
  };
  struct Arrival {
    const Feed* feed = nullptr;
    std::span<std::byte> bytes;  ///< in the window itself where is_placed
    bool is_placed = false;
    std::unique_ptr<Pending> pending;
  };

  bool batch(std::uint64_t first, std::uint64_t last);
  void announce(const plan::OwnRange& range);
  void reserve() noexcept;
  std::vector<std::byte> describe(const std::vector<std::size_t>& items) const;
  Feed understand(const Parcel& parcel) const;
  bool is_crowded(std::uint64_t first, std::uint64_t last) const;
  Stretches window_of(std::uint32_t writer, std::uint64_t round) const;

  void round(std::uint64_t number);
  void round_in_turn(std::uint64_t number);
  std::vector<Arrival> post_receives(const Stretches& window);
  void send_all(std::uint64_t number);
  std::span<const std::byte> message(const std::vector<std::size_t>& items,
                                     const Stretches& window);
  void place_own(const Stretches& window);
  void place(const Feed& feed, const Stretches& window, std::span<const std::byte> bytes);
  void open_window(const Stretches& window, std::uint64_t number);
  RoundSource::Bytes take(std::size_t item, std::uint64_t from, std::uint64_t to);

  Transport& transport_;
  const plan::TileMap& tiles_;
  const std::uint64_t window_bytes_;
  const std::vector<const layout::Placement*> placements_;
  Window* window_;
  Buffers& buffers_;
  const int own_index_;  ///< of this rank among the writers, -1

  RoundSource* source_ = nullptr;
  ItemsByWriter leaving_;               ///< in this batch
  std::vector<std::uint32_t> targets_;  ///< writers with remaining items, from here on
  std::vector<Feed> feeds_;
  SendBuffer sends_;
  std::exception_ptr failure_;
};

}  // namespace sluice::exec
