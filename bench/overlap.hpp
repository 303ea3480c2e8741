// Case overlap: output while the ranks compute as long as the output takes alone.
//
// Jobs have path, mib (MiB a rank and step), pairs, polls (calls of progress() while computing) and
// verify. They answer with medians over the pairs, each as on the slowest rank: alone_s (output
// without computing, until durable), copy_s (one copy of the same bytes into touched memory, by all
// ranks at once), visible_s (what a caller waits for at the end of a step), visible_of_copy (the
// same as a multiple of a copy, pair by pair), left_s (what is left to wait for when computing has
// ended), cost_s (what the step takes beyond computing alone: visible, left and the slow-down),
// durable_share (of steps that were durable then), cpu_ms_per_gb (of all other threads), and
// slow_percent, slow_low_percent, slow_high_percent: how much longer computing takes beside
// output, a mean of pairs and its 95 % interval.
#pragma once

#include <cstdint>

#include "common.hpp"

namespace sluice::bench {

/// One method of output. All but progress() and is_durable() are collective.
class Background {
 public:
  virtual ~Background() = default;
  /// Passes on a step; returns when `data` may change.
  virtual void begin(std::span<const double> data) = 0;
  /// Called while computing.
  virtual void progress() {}
  virtual bool is_durable() { return false; }
  /// Returns when the step is durable.
  virtual void finish() = 0;
};

Values run_overlap(World& world, const Job& job, Background& output);

/// overlap/sluice: strategy, storage, writers, ranks_per_node, checksum, budget_mib,
/// coalesce (0 or 1), coalesce_bytes.
void add_overlap_sluice(Contestants& contestants);
/// overlap/mpiio-iwrite: MPI_File_iwrite_at_all, and a sync when it is waited for.
void add_overlap_mpiio(Contestants& contestants);
/// overlap/phdf5-collective: blocking writes and a sync.
void add_overlap_phdf5(Contestants& contestants);

}  // namespace sluice::bench
