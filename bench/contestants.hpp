// The contestants, one function a file: what each puts into the programs' list.
//
// Names are <case>/<contestant>. Jobs of the case `write` have path, mib (MiB a rank) and verify
// (0 or 1), and answer with the marks create_s, write_s, sync_s and close_s in seconds since the
// barrier. Jobs of the case `step` have path, variables, elements (a rank and variable), steps and
// warm_up, and answer with the quantiles of StepTimes.
#pragma once

#include "common.hpp"

namespace sluice::bench {

/// write/bare, strategies/bare: direct I/O without any format, each rank one run. step/bare: one
/// small pwrite a variable, one barrier.
void add_bare(Contestants& contestants);
/// write/mpiio: MPI_File_write_at_all.
void add_mpiio(Contestants& contestants);
/// write/phdf5-collective, write/phdf5-independent, step/phdf5-collective: parallel HDF5.
void add_phdf5(Contestants& contestants);
/// write/sluice and step/sluice; further keys: strategy, storage, durability, check, checksum,
/// budget_mib, stripe_kib.
void add_sluice(Contestants& contestants);

/// strategies/phdf5-collective, -independent; keys pattern and mib as for all of this case
/// (partition.hpp), and form: contiguous, or chunked by the ranks' boxes.
void add_field_phdf5(Contestants& contestants);
/// strategies/mpiio; hints: of MPI-IO.
void add_field_mpiio(Contestants& contestants);
/// strategies/netcdf4.
void add_field_netcdf4(Contestants& contestants);
/// strategies/pnetcdf.
void add_field_pnetcdf(Contestants& contestants);
/// strategies/sluice; strategy, storage, tiles, durability, writers, tile, budget, checksum as in
/// sluice.toml; form: stepped or fixed.
void add_field_sluice(Contestants& contestants);
/// read/sluice (readers, checksum) and read/bare: answer with open_s and read_s.
void add_field_read(Contestants& contestants);
/// index/h5py and index/libhdf5 (parts): answer with open_s and read_s.
void add_index(Contestants& contestants);

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
