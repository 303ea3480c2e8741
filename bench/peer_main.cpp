// bench_peers: the contestants that are not Sluice. A program of its own, because the parallel
// libhdf5 and the serial one that Sluice uses must not meet in one process.
#include "checkpoint.hpp"
#include "contestants.hpp"
#include "overlap.hpp"

int main(int argc, char** argv) {
  sluice::bench::Contestants contestants;
  sluice::bench::add_bare(contestants);
  sluice::bench::add_mpiio(contestants);
  sluice::bench::add_overlap_mpiio(contestants);
  sluice::bench::add_checkpoint_posix(contestants);
  sluice::bench::add_field_mpiio(contestants);
  sluice::bench::add_field_posix(contestants);
  sluice::bench::add_vampire_lines(contestants);
#ifdef SLUICE_BENCH_PHDF5
  sluice::bench::add_phdf5(contestants);
  sluice::bench::add_overlap_phdf5(contestants);
  sluice::bench::add_checkpoint_phdf5(contestants);
  sluice::bench::add_field_phdf5(contestants);
  sluice::bench::add_compress_phdf5(contestants);
  sluice::bench::add_mfdn_phdf5(contestants);
#endif
#ifdef SLUICE_BENCH_NETCDF4
  sluice::bench::add_field_netcdf4(contestants);
#endif
#ifdef SLUICE_BENCH_PNETCDF
  sluice::bench::add_field_pnetcdf(contestants);
#endif
#ifdef SLUICE_BENCH_ADIOS2
  sluice::bench::add_adios2(contestants);
#endif
  return sluice::bench::serve(argc, argv, contestants);
}
