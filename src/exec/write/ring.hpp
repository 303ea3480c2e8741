// The windows of a node's writers in memory that all its ranks see: every rank puts its bytes into
// their places, and a writer's thread writes a window when all ranks have passed it.
//
// Invariants: windows are counted from the first commit on, by the same arithmetic on every rank,
// so that no message is needed; who is the first to put bytes into a window gives it a slot that
// all ranks see (ring_slots), and nobody touches window n before window n - slots is written (the
// back-pressure: memory is what share() made);
// a rank passes the windows of all writers in the same order, and has put nothing into one that it
// has passed; exactly the bytes that were put are written; after a failure a writer writes nothing
// more of that pass, but takes its windows all the same, and the next pass needs a new ring. A rank
// that is late or dead holds up the thread, which waits asleep, and whoever needs a slot, who gets
// Error timeout. Where the kernel lets them, ranks make room for what they fill just before, in all
// ranks at once, for a first step would take twice as long if all memory were made ready before it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "exec/notify/event_count.hpp"
#include "exec/transport/transport.hpp"
#include "exec/write/ring_memory.hpp"
#include "exec/write/ring_slots.hpp"
#include "exec/write/round_source.hpp"
#include "plan/tile_map.hpp"
#include "storage/storage.hpp"

namespace sluice::exec {

/// The windows of one source, the same on every rank.
struct Pass {
  std::uint64_t first_window = 0;  ///< of every writer's own space
  std::uint64_t last_window = 0;
  std::uint64_t number = 0;   ///< of the first, counted from the first commit on
  std::uint64_t granule = 1;  ///< all runs begin and end at multiples of it
  bool gathers = true;        ///< a window is written when it is complete; else what came of it
  plan::TileMap tiles = {};
};

/// The same on every rank.
struct RingShape {
  std::size_t ranks = 1;
  std::size_t writers = 1;
  std::uint64_t window_bytes = 0;
  std::uint64_t slots = 0;  ///< windows of a writer
};

class Ring {
 public:
  /// Collective over all ranks, which must be of one node. nullptr on every rank where there is
  /// known to be no room for that, or not everybody can reach it. `shape.ranks` is found out; slots
  /// are fewer, but not below `fewest_slots`, where `budget_bytes` of a rank have no room beside
  /// other staging of its process.
  static std::unique_ptr<Ring> share(Transport& transport, RingShape shape,
                                     std::uint64_t fewest_slots, std::uint64_t budget_bytes,
                                     double timeout_s);
  /// Leaves the memory to rings after this one, of other files too. For every rank, when all of
  /// them have put and all writers have taken without a failure; nothing may be called afterwards.
  void give_back(double idle_s);
  /// What share() asks for.
  static std::uint64_t memory_bytes(const RingShape& shape);
  static std::uint64_t head_bytes(const RingShape& shape);
  /// For one rank, in memory that all ranks see, and which begins with as many zeros as the head.
  Ring(std::unique_ptr<RingMemory> memory, const RingShape& shape, std::size_t rank,
       double timeout_s);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  std::uint64_t slots() const noexcept { return slots_; }
  std::uint64_t window_bytes() const noexcept { return window_bytes_; }

  /// The next pass; the same on every rank for the same arguments.
  Pass pass(const plan::TileMap& tiles, const plan::OwnRange& range, std::uint64_t granule);
  /// Puts this rank's bytes of `source`. Throws at the end what it met; the pass is complete
  /// anyway.
  void put(const Pass& pass, RoundSource& source);
  /// The same without any bytes.
  void put_nothing(const Pass& pass);
  /// On a writer, in its thread: writes what all ranks put into the windows that it owns.
  /// Without a file they are only emptied.
  void take(const Pass& pass, storage::File* file);
  /// take() returns at once from here on, by throwing.
  void stop() noexcept;

  std::uint64_t bytes() const noexcept { return memory_->bytes(); }
  /// Seconds that this rank has waited for slots to put bytes into.
  double waited_s() const noexcept { return waited_s_; }

 private:
  struct Writer;
  /// Where a window lies.
  struct Place {
    std::byte* bytes;
    std::uint64_t* marks;  ///< of the granules that came
    std::uint64_t first;   ///< of the writer's own space
    std::uint64_t length;  ///< in bytes

    /// The granules of the window whose bits are set in `which`.
    void write_runs(const Pass& pass, std::size_t w, const std::uint64_t* which,
                    storage::File& file) const;
  };
  Writer& writer(std::size_t w) const;
  std::atomic<std::uint64_t>& passed(std::size_t rank, std::size_t w) const;
  std::uint64_t passed_by_all(std::size_t w) const;
  RingSlots slots_of(std::size_t w) const;
  Place place(std::size_t w, std::uint32_t slot, std::uint64_t first) const;
  std::optional<Place> find_place(const Pass& pass, std::uint64_t window, std::size_t w) const;
  Place make_place(const Pass& pass, std::uint64_t window, std::size_t w);
  void advance(std::uint64_t number);
  void wait_for_slot(std::size_t w, std::uint64_t number);
  void wait_for_ranks(std::size_t w, std::uint64_t number);
  bool put_window(const Pass& pass, std::uint64_t window, std::size_t w, RoundSource& source,
                  const std::vector<std::size_t>& items);
  void copy(const Place& place, const plan::Stretch& stretch, const RoundItem& item,
            std::span<const std::byte> bytes, std::uint64_t from);
  void outcome(const Pass& pass, const Place& place, const plan::Stretch& stretch,
               const RoundItem& item, std::uint64_t from, std::uint64_t to, std::size_t w);
  void write_as_it_comes(const Pass& pass, std::uint64_t window, std::size_t w,
                         storage::File& file);

  std::unique_ptr<RingMemory> memory_;
  const std::size_t rank_;
  const std::size_t ranks_;
  const std::size_t writers_;
  const std::uint64_t window_bytes_;
  const std::uint64_t slots_;
  const double timeout_s_;
  const std::uint64_t head_bytes_;
  const std::uint64_t windows_offset_;
  std::uint64_t passed_ = 0;  ///< windows before this one, by this rank
  std::uint64_t next_ = 0;    ///< number of the next pass's first window
  double waited_s_ = 0;
  std::atomic<bool> stopped_{false};
};

}  // namespace sluice::exec
