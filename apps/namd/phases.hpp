// The output phases of a run: compute, write, compute, write.
#pragma once

#include <mpi.h>

#include "trajectory.hpp"

namespace namd {

struct Phases {
  TrajectoryOptions trajectory;
  std::uint64_t patches = 64;
  double compute_s = 0;  ///< before each step, on every rank
  int polls = 10;        ///< of a computing phase
};

/// Seconds on the slowest rank.
struct PhaseTimes {
  double visible_s = 0;  ///< in calls of the output, all steps and the close together
  double close_s = 0;    ///< of which in the close
  double total_s = 0;    ///< from the first step to the end of the close, computing included
};

/// Collective.
PhaseTimes run_phases(MPI_Comm comm, const Phases& phases);

}  // namespace namd
