// The windows of a node's writers in memory that all its ranks see: every rank puts its bytes into
// their places, and a writer's thread writes a window when all ranks have passed it.
//
// Invariants: windows are counted from the first commit on, by the same arithmetic on every rank,
// so that no message is needed; window n of a writer lies in its slot n mod slots, and nobody
// touches it before window n - slots is written (the back-pressure: memory is what share() made);
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
#include <vector>

#include "exec/notify/event_count.hpp"
#include "exec/transport/transport.hpp"
#include "exec/write/round_source.hpp"
#include "plan/tile_map.hpp"
#include "storage/shared_memory.hpp"
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
  /// known to be no room for that, or not everybody can reach it. `shape.ranks` is found out.
  static std::unique_ptr<Ring> share(Transport& transport, RingShape shape, double timeout_s);
  /// What share() asks for.
  static std::uint64_t memory_bytes(const RingShape& shape);
  /// For one rank, in zeroed memory that all ranks see.
  Ring(std::shared_ptr<storage::SharedMemory> memory, const RingShape& shape, std::size_t rank,
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
  /// Of what one thread fills: which parts it has made room for.
  class Rooms {
   public:
    /// Error no_space.
    void make(storage::SharedMemory& memory, const void* first, std::uint64_t length);

   private:
    std::vector<bool> made_;
  };
  Writer& writer(std::size_t w) const;
  std::atomic<std::uint64_t>& passed(std::size_t rank, std::size_t w) const;
  std::uint64_t passed_by_all(std::size_t w) const;
  static std::uint64_t head_bytes(std::size_t ranks, std::size_t writers);
  std::byte* slot(std::size_t w, std::uint64_t number) const;
  std::uint64_t* bits(std::size_t w, std::uint64_t number) const;
  std::uint64_t bits_bytes(const Pass& pass) const;
  void advance(std::uint64_t number);
  void wait_for_slot(std::size_t w, std::uint64_t number);
  void wait_for_ranks(std::size_t w, std::uint64_t number);
  void put_window(const Pass& pass, std::uint64_t window, std::size_t w, RoundSource& source,
                  const std::vector<std::size_t>& items);
  void copy(const Pass& pass, const plan::Stretch& stretch, const RoundItem& item,
            std::span<const std::byte> bytes, std::uint64_t from, std::uint64_t window,
            std::size_t w);
  void outcome(const Pass& pass, const plan::Stretch& stretch, const RoundItem& item,
               std::uint64_t from, std::uint64_t to, std::uint64_t window, std::size_t w);
  void write_complete(const Pass& pass, std::uint64_t window, std::size_t w, storage::File& file);
  void write_as_it_comes(const Pass& pass, std::uint64_t window, std::size_t w,
                         storage::File& file);
  void write_runs(const Pass& pass, std::uint64_t window, std::size_t w, const std::uint64_t* which,
                  storage::File& file);

  const std::shared_ptr<storage::SharedMemory> memory_;
  const std::size_t rank_;
  const std::size_t ranks_;
  const std::size_t writers_;
  const std::uint64_t window_bytes_;
  const std::uint64_t slots_;
  const double timeout_s_;
  std::uint64_t next_ = 0;  ///< number of the next pass's first window
  double waited_s_ = 0;
  Rooms put_rooms_;
  Rooms take_rooms_;
  std::atomic<bool> stopped_{false};
};

}  // namespace sluice::exec
