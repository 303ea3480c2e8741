// The exchange of two_phase where all ranks are on one node: each rank copies its bytes into and
// out of windows in memory that all share, and nothing is sent.
//
// Invariants: an aggregator has two windows, so that one is filled while the other is written; a
// round ends with a barrier, and a window is used again two rounds later. What is covered is a bit
// for each byte: holes are not written. Every rank takes part in every round, whatever has failed.
#pragma once

#include <cstdint>
#include <memory>

#include "mpiio/memory.hpp"
#include "mpiio/mpi.hpp"
#include "mpiio/sink.hpp"
#include "mpiio/two_phase.hpp"
#include "mpiio/view.hpp"
#include "storage/shared_memory.hpp"

namespace sluice::mpiio {

/// Of one file; made at the first exchange that is large enough, and kept.
class SharedWindows {
 public:
  /// Room for these domains on all ranks, or on none: they are small, or there is no memory to
  /// share. Collective.
  bool prepare(MPI_Comm comm, int rank, const Domains& domains);
  /// Of an aggregator; `half`: 0 or 1.
  std::byte* bytes(int aggregator, int half) const;
  std::uint64_t* bits(int aggregator, int half) const;

 private:
  std::byte* window(int aggregator, int half) const;

  std::unique_ptr<storage::SharedMemory> memory_;
  std::int64_t window_bytes_ = 0;
  int aggregators_ = 0;
  bool is_refused_ = false;
};

/// As write_together() and read_together(), through prepared windows.
void write_on_node(MPI_Comm comm, Sink& sink, const View& view, std::int64_t stream,
                   const Memory& memory, const Domains& domains, const SharedWindows& windows);
void read_on_node(MPI_Comm comm, storage::File& file, const View& view, std::int64_t stream,
                  const Memory& memory, const Domains& domains, const SharedWindows& windows);

}  // namespace sluice::mpiio
