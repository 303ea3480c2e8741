// What collective writes have staged and not yet written, told to all ranks of a node.
//
// Invariants: a rank posts a range before its collective call returns, and a collective call that
// stages ends with an agreement; so whoever has returned from the call, or heard from one who has,
// finds the range here. Each rank's ranges are written in the order in which they were posted.
// A wait needs no call of MPI of any other rank: the board lies in memory that the ranks share, and
// writers' threads go on by themselves. Every wait has a limit (SLUICE_TIMEOUT_S) and ends where
// the process that it waits for has gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "mpiio/runs.hpp"
#include "storage/shared_memory.hpp"
#include "storage/storage.hpp"

namespace sluice::mpiio {

/// SLUICE_TIMEOUT_S. `says`: tells, once, that the setting is no number.
double pending_timeout_s(bool says = false);

class Board {
 public:
  /// Ranges of a rank that can be pending at the same time.
  static constexpr std::uint64_t slots = 256;
  static std::uint64_t bytes_for(int ranks);

  /// `memory` has bytes_for(ranks), all zero before anybody posts.
  Board(std::unique_ptr<storage::SharedMemory> memory, int ranks, int own_rank);

  // Of the own rank.
  std::uint64_t pending() const;
  /// `call`: how many collective writes came before. There is a free slot.
  void post(const Run& range, std::int64_t call);
  /// The oldest range is written. The writer's thread.
  void pass();

  // Of all ranks. Any thread.
  bool is_idle() const;
  /// Until nothing that was posted and overlaps `range` is pending.
  void wait_for(const Run& range) const;
  void wait_for_all() const;
  /// The same for what other ranks posted before collective write `call`.
  void wait_for_earlier(const Run& range, std::int64_t call) const;

 private:
  struct Slot {
    std::atomic<std::int64_t> first;
    std::atomic<std::int64_t> last;
    std::atomic<std::int64_t> call;
  };
  struct alignas(64) Row {
    std::atomic<std::uint64_t> posted;
    std::atomic<std::uint64_t> written;
    std::atomic<std::int64_t> process;
    Slot ring[slots];
  };
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);

  Row& row(int rank) const { return reinterpret_cast<Row*>(memory_->data())[rank]; }
  /// How many ranges of `rank` have to be written before none in front of `call` overlaps.
  std::uint64_t needed(int rank, const Run& range, std::int64_t call) const;
  void wait(int rank, std::uint64_t written) const;

  std::unique_ptr<storage::SharedMemory> memory_;
  int ranks_;
  int own_;
};

/// The boards of the files that this process has open behind, by file and not by handle: another
/// handle of the same file has to wait too. Any thread.
class Boards {
 public:
  static Boards& all();
  void add(const storage::FileIdentity& file, std::shared_ptr<Board> board);
  void remove(const Board* board);
  bool is_empty() const { return count_.load(std::memory_order_acquire) == 0; }
  /// Of the file; those with nothing pending are left out.
  std::vector<std::shared_ptr<Board>> busy(const storage::FileIdentity& file);

 private:
  struct Entry {
    storage::FileIdentity file;
    std::shared_ptr<Board> board;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::atomic<int> count_{0};
};

/// Before any access at once of a range: until nothing pending overlaps it.
void wait_for_pending(const storage::FileIdentity& file, const Run& range);
/// Before what depends on the size, or on all bytes.
void wait_for_all_pending(const storage::FileIdentity& file);
/// Before a read, whose count depends on the size too.
void wait_to_read(const storage::FileIdentity& file, const Run& range, storage::File& storage);

}  // namespace sluice::mpiio
