// Collective access in two phases: some ranks write and read whole windows of the file, and all
// exchange the bytes with them by messages.
//
// Invariants: every rank takes part in every round, even after a failure, which is thrown when the
// rounds are over. A rank holds one window, one batch of messages of others, and its own bytes of
// one round if its memory is scattered: all of bounded size. A rank sends bytes of a round only
// when those of the round before are expected, so an aggregator has those of two rounds waiting at
// most. Holes are never read and written back.
#pragma once

#include <span>

#include "mpiio/hints.hpp"
#include "mpiio/memory.hpp"
#include "mpiio/mpi.hpp"
#include "mpiio/sink.hpp"
#include "mpiio/straight.hpp"
#include "mpiio/view.hpp"

namespace sluice::mpiio {

/// Who handles which part of the file: aggregator i the range `domain` bytes long from low + i *
/// domain, window by window. The same on all ranks.
struct Domains {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t domain_bytes = 0;
  std::int64_t window_bytes = 0;
  int aggregators = 1;
  int ranks = 1;

  int rank_of(int aggregator) const {
    return static_cast<int>(std::int64_t{aggregator} * ranks / aggregators);
  }
  int rounds() const { return static_cast<int>((domain_bytes + window_bytes - 1) / window_bytes); }
  /// The window of an aggregator in a round; may be empty.
  Run window(int aggregator, int round) const { return windows(aggregator, round, round + 1); }
  /// Those of the rounds from `first` up to `last` together.
  Run windows(int aggregator, int first, int last) const;
};

/// What limits the size of the windows.
struct Load {
  std::int64_t mean_run = 1;
  std::int64_t most_scattered = 0;  ///< bytes of a rank whose memory is not contiguous
  bool is_one_node = false;         ///< the windows of all may be in its memory
};
/// Of a range of the file.
Domains make_domains(const Run& range, const Load& load, int ranks, const ExchangeHints& hints);

/// Reads a window inside the file. Error truncated if the file became shorter.
void read_window(const Run& window, std::byte* bytes, Straight& file);

/// For an ascending view; collective. `ranges`: what each rank accesses.
void write_together(MPI_Comm comm, Sink& sink, const View& view, std::int64_t stream,
                    const Memory& memory, const Domains& domains, std::span<const Run> ranges);
/// The same for reading; no rank requests bytes beyond the end of the file.
void read_together(MPI_Comm comm, Straight& file, const View& view, std::int64_t stream,
                   const Memory& memory, const Domains& domains, std::span<const Run> ranges);

}  // namespace sluice::mpiio
