// bench_sluice: Sluice's side of the benchmarks.
#include "checkpoint.hpp"
#include "contestants.hpp"
#include "overlap.hpp"

int main(int argc, char** argv) {
  sluice::bench::Contestants contestants;
  sluice::bench::add_sluice(contestants);
  sluice::bench::add_field_sluice(contestants);
  sluice::bench::add_field_read(contestants);
  sluice::bench::add_checkpoint(contestants);
  sluice::bench::add_compress(contestants);
  sluice::bench::add_index(contestants);
  sluice::bench::add_overlap_sluice(contestants);
  sluice::bench::add_vampire(contestants);
  return sluice::bench::serve(argc, argv, contestants);
}
