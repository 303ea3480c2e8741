// The exchange of two_phase where all ranks are on one node: each rank copies its bytes into and
// out of windows in memory that all share, and nothing is sent.
//
// Invariants: an aggregator has two windows, so that one is filled while the other is written; a
// round ends with a barrier, and a window is used again two rounds later; rounds in which no rank
// has bytes are left out, alike on all ranks. What is covered is a bit
// for each byte: holes are not written. Every rank takes part in every round, whatever has failed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "mpiio/domains.hpp"
#include "mpiio/memory.hpp"
#include "mpiio/mpi.hpp"
#include "mpiio/sink.hpp"
#include "mpiio/straight.hpp"
#include "mpiio/view.hpp"
#include "storage/shared_memory.hpp"

namespace sluice::mpiio {

/// Of one file; made at the first exchange that is large enough, and kept. When the file is closed
/// a process keeps one set, whose memory was touched, for the next file of exactly the same ranks:
/// two groups of ranks have no common barrier, and must not exchange through the same windows.
class SharedWindows {
 public:
  SharedWindows() = default;
  SharedWindows(const SharedWindows&) = delete;
  SharedWindows& operator=(const SharedWindows&) = delete;
  ~SharedWindows();

  /// Room for these domains on all ranks, or on none: they are small, or there is no memory to
  /// share. Collective.
  bool prepare(MPI_Comm comm, int rank, const Domains& domains);
  /// Of an aggregator; `half`: 0 or 1.
  std::byte* bytes(int aggregator, int half) const;
  std::uint64_t* bits(int aggregator, int half) const;
  /// Some bits may be left, because an exchange has not ended: these windows are not used again.
  void set_dirty(bool is_dirty) { is_dirty_ = is_dirty; }

  /// Memory, and where the windows lie in it.
  struct Set {
    std::unique_ptr<storage::SharedMemory> memory;
    std::int64_t window_bytes = 0;
    int aggregators = 0;
    int ranks = 0;  ///< that share it

    bool has_room_for(const Domains& domains) const {
      return memory && domains.window_bytes <= window_bytes && domains.aggregators <= aggregators;
    }
  };

 private:
  bool take_idle(MPI_Comm comm, int rank, const Domains& domains);
  void make(MPI_Comm comm, int rank, const Domains& domains);
  std::byte* window(int aggregator, int half) const;

  Set set_;
  bool is_refused_ = false;
  bool is_dirty_ = false;
};

/// As write_together() and read_together(), through prepared windows.
void write_on_node(MPI_Comm comm, Sink& sink, const View& view, std::int64_t stream,
                   const Memory& memory, const Domains& domains, std::span<const Run> ranges,
                   SharedWindows& windows);
void read_on_node(MPI_Comm comm, Straight& file, const View& view, std::int64_t stream,
                  const Memory& memory, const Domains& domains, std::span<const Run> ranges,
                  const SharedWindows& windows);

}  // namespace sluice::mpiio
