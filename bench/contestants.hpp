// The contestants, one function a file: what each puts into the programs' list.
//
// Names are <case>/<contestant>. Jobs of the case `write` have path, mib (MiB a rank) and verify
// (0 or 1), and answer with the marks create_s, write_s, sync_s and close_s in seconds since the
// barrier. Jobs of the case `step` have path, variables, elements (a rank and variable), steps and
// warm_up, and answer with the quantiles of StepTimes.
#pragma once

#include "common.hpp"

namespace sluice::bench {

/// write/bare: direct I/O without any format. step/bare: one small pwrite a variable, one barrier.
void add_bare(Contestants& contestants);
/// write/mpiio: MPI_File_write_at_all.
void add_mpiio(Contestants& contestants);
/// write/phdf5-collective, write/phdf5-independent, step/phdf5-collective: parallel HDF5.
void add_phdf5(Contestants& contestants);
/// write/sluice and step/sluice; further keys: strategy, storage, durability, check, checksum,
/// budget_mib, stripe_kib.
void add_sluice(Contestants& contestants);

/// Durations of many steps. add() is local, finish() collective.
class StepTimes {
 public:
  StepTimes(MPI_Comm comm, std::uint64_t warm_up) : comm_(comm), warm_up_(warm_up) {}
  /// Runs one step between a barrier and the last rank's return, and notes how long it took.
  template <class Body>
  void time(Body&& body) {
    MPI_Barrier(comm_);
    const double start_s = MPI_Wtime();
    body();
    seconds_.push_back(MPI_Wtime() - start_s);
  }
  /// median_s, p10_s, p90_s and max_s over the steps after the warm-up, each step as long as on
  /// its slowest rank.
  Values finish();

 private:
  MPI_Comm comm_;
  std::uint64_t warm_up_;
  std::vector<double> seconds_;
};

}  // namespace sluice::bench
