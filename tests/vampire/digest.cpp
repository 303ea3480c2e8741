// Prints digests of the spins of a few short runs: the same whatever the compiler, its
// optimisation and the number of ranks. Only the physics is linked, so that a second compiler has
// little to build.
#include <cstdio>
#include <mpi.h>

#include "comm.hpp"
#include "decomposition.hpp"
#include "integrator.hpp"
#include "lattice.hpp"
#include "measure.hpp"
#include "noise.hpp"

int main(int argc, char** argv) {
  using namespace vampire;
  MPI_Init(&argc, &argv);
  const MPI_Comm comm = MPI_COMM_WORLD;
  for (const char* kind : {"sc", "bcc", "fcc"}) {
    Sample sample =
        generate({kind, {6, 5, 7}, 3.54, {true, false, true}}, rank_of(comm), size_of(comm));
    sample.moment_mub = {1.72};
    for (std::size_t i = 0; i < sample.atoms.size(); ++i) {
      sample.atoms.spin[i] = normalised(normal3(9, Stream::initial, sample.atoms.id[i], 0));
    }
    sample.atoms = to_owners(comm, sample.atoms, sample.box);
    Physics physics;
    physics.exchange_mev = 30;
    physics.anisotropy_mev = 0.7;
    physics.axis = normalised({1, 2, 3});
    physics.field_t = {0.5, -1, 2};
    physics.temperature_k = 250;
    physics.seed = 42;
    Integrator integrator(comm, sample, physics);
    for (std::uint32_t step = 1; step <= 200; ++step) {
      integrator.step(step);
    }
    const Measured now = measure(comm, sample, integrator.spins(), integrator.energies());
    const std::uint64_t value = digest(comm, sample.atoms, integrator.spins());
    if (rank_of(comm) == 0) {
      std::printf("%s %016llx %a %a\n", kind, static_cast<unsigned long long>(value), now.length,
                  now.energy_mev);
    }
  }
  MPI_Finalize();
  return 0;
}
