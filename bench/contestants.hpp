// The contestants, one function for each file: what each adds to the programs' list.
//
// Names are <case>/<contestant>. Jobs of the case `write` have path, mib (MiB a rank) and verify
// (0 or 1), and answer with the marks create_s, write_s, sync_s and close_s in seconds since the
// barrier. Jobs of the case `step` have path, variables, elements (a rank and variable), steps and
// warm_up, and answer with the quantiles of StepTimes; pause_ms is what the ranks sleep before each
// step, as a simulation computes, and verify (0 or 1) reads the first step back. Jobs of the case
// `history` have path, variables, elements, steps and bucket, and answer with median<i>_s and
// bytes<i>: of the i-th bucket of steps the median time and the mean growth of the file.
#pragma once

#include <chrono>
#include <thread>

#include "common.hpp"

namespace sluice::bench {

/// write/bare, strategies/bare: direct I/O without any format, each rank one run. step/bare: one
/// small pwrite a variable, one barrier.
/// step/snapshot-bare: a new file for each step: its bytes, fdatasync, rename, sync of its folder.
/// step/bytes-sync: the bytes of a step into preallocated space, and one fdatasync for all ranks.
void add_bare(Contestants& contestants);
/// write/mpiio: MPI_File_write_at_all. mpiio/small: `calls` writes of `bytes` by each rank alone.
void add_mpiio(Contestants& contestants);
/// write/phdf5-collective, write/phdf5-independent, step/phdf5-collective: parallel HDF5.
void add_phdf5(Contestants& contestants);
/// write/sluice, step/sluice, step/snapshot-sluice (a file a step) and history/sluice; further
/// keys: strategy, storage, durability, check, checksum, budget_mib, stripe_kib.
void add_sluice(Contestants& contestants);

/// strategies/phdf5-collective, -independent; keys pattern and mib as for all of this case
/// (partition.hpp), and form: contiguous, or chunked by the ranks' boxes. presize (0 or 1), as for
/// mpiio: the file has its whole size before anybody writes.
void add_field_phdf5(Contestants& contestants);
/// mfdn/phdf5-write, mfdn/phdf5-read; keys and answers as in mfdn_main.cpp.
void add_mfdn_phdf5(Contestants& contestants);
/// strategies/mpiio; hints: of MPI-IO.
void add_field_mpiio(Contestants& contestants);
/// strategies/posix: every rank writes its runs of a pattern by bare calls, all at once, wherever
/// they begin. strategies/posix-read: reads them so, from a file that was written so first; answers
/// with read_s.
void add_field_posix(Contestants& contestants);
/// strategies/netcdf4.
void add_field_netcdf4(Contestants& contestants);
/// strategies/pnetcdf.
void add_field_pnetcdf(Contestants& contestants);
/// strategies/adios2-bp5, read/adios2-bp5, overlap/adios2-bp5; aggregation and async (0 or 1): of
/// the engine.
void add_adios2(Contestants& contestants);
/// strategies/sluice; strategy, storage, tiles, durability, writers, tile_bytes, budget_bytes,
/// checksum, autotune as in sluice.toml; form: stepped or fixed; steps: how many, if stepped.
void add_field_sluice(Contestants& contestants);
/// vampire/lines: text with a flush after every line, a file a rank; keys path and elements (three
/// an atom); answers as the case `write` does.
void add_vampire_lines(Contestants& contestants);
/// vampire/own: a snapshot in VAMPIRE's own files; further keys: mode, nodes, text (0 or 1),
/// durable (0 or 1).
void add_vampire(Contestants& contestants);
/// compress/phdf5; keys mib, chunk_mib and level: answers with close_s, sync_s and file_bytes.
void add_compress_phdf5(Contestants& contestants);
/// compress/sluice (strategy, durable), compress/encoding, compress/h5py: the same.
void add_compress(Contestants& contestants);
/// read/sluice (readers, checksum) and read/bare: answer with open_s and read_s.
void add_field_read(Contestants& contestants);
/// index/h5py and index/libhdf5 (parts): answer with open_s and read_s.
void add_index(Contestants& contestants);

/// Durations of many steps. add() is local, finish() collective.
class StepTimes {
 public:
  StepTimes(MPI_Comm comm, std::uint64_t warm_up, std::uint64_t pause_ms = 0)
      : comm_(comm), warm_up_(warm_up), pause_(pause_ms) {}
  /// Runs one step between a barrier and the last rank's return, and records its time, without the
  /// pause before it.
  template <class Body>
  void time(Body&& body) {
    if (pause_.count() > 0) std::this_thread::sleep_for(pause_);
    MPI_Barrier(comm_);
    const double start_s = MPI_Wtime();
    body();
    seconds_.push_back(MPI_Wtime() - start_s);
  }
  /// median_s, p10_s, p90_s and max_s over the steps after the warm-up, each step as long as on
  /// its slowest rank.
  Values finish();
  /// The steps after the warm-up, in order, each as long as on its slowest rank. Collective.
  std::vector<double> seconds() const;

 private:
  MPI_Comm comm_;
  std::uint64_t warm_up_;
  std::chrono::milliseconds pause_;
  std::vector<double> seconds_;
};

}  // namespace sluice::bench
