#include "phases.hpp"

namespace namd {
namespace {

/// Keeps the core busy, as forces would.
void compute(Trajectory& trajectory, double seconds, int polls) {
  const double begin_s = MPI_Wtime();
  int polled = 0;
  volatile double sink = 0;
  for (double now_s = begin_s; now_s < begin_s + seconds; now_s = MPI_Wtime()) {
    for (int i = 0; i < 1000; ++i) {
      sink = sink * 0.5 + i;
    }
    if (now_s - begin_s >= seconds * polled / polls) {
      trajectory.poll();
      ++polled;
    }
  }
}

}  // namespace

PhaseTimes run_phases(MPI_Comm comm, const Phases& phases) {
  const TrajectoryOptions& options = phases.trajectory;
  Patches patches(options.atoms, phases.patches, rank_of(comm), size_of(comm));
  const auto trajectory = make_trajectory(comm, options);
  double moving_s = 0;
  double visible_s = 0;
  MPI_Barrier(comm);
  const double begin_s = MPI_Wtime();
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    const double moves_s = MPI_Wtime();
    patches.advance(step);
    moving_s += MPI_Wtime() - moves_s;
    compute(*trajectory, phases.compute_s, phases.polls);
    const double writes_s = MPI_Wtime();
    trajectory->write(patches);
    visible_s += MPI_Wtime() - writes_s;
  }
  const double closes_s = MPI_Wtime();
  trajectory->close();
  const double end_s = MPI_Wtime();
  double times[] = {visible_s + end_s - closes_s, end_s - closes_s, end_s - begin_s - moving_s};
  MPI_Allreduce(MPI_IN_PLACE, times, 3, MPI_DOUBLE, MPI_MAX, comm);
  return {times[0], times[1], times[2]};
}

}  // namespace namd
