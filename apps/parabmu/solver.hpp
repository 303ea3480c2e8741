// Conjugate gradients with Jacobi's preconditioner, over the ranks of a mesh.
//
// Invariant: all arithmetic is done in an order that depends on the mesh alone. Products are summed
// by node planes, each by its one owner, and planes in ascending order by every rank; so iterates
// are bit-identical on any number of ranks.
#pragma once

#include <functional>
#include <string>

#include "constraints.hpp"

namespace parabmu {

struct SolverOptions {
  std::uint64_t most_iterations = 1000;
  double tolerance = 1e-9;             ///< of the residual's norm over that of the first
  std::string checkpoint;              ///< file of checkpoints; empty: none
  std::uint64_t checkpoint_every = 0;  ///< iterations; 0: by what a checkpoint costs
};

struct Solution {
  std::vector<double> displacements;  ///< 3 a local node, ghosts too
  std::vector<double> residuals;      ///< relative: of the start, then after each iteration
  bool converged = false;
  bool stopped = false;          ///< the job ends: the next run goes on from the checkpoint
  std::uint64_t iterations = 0;  ///< those of the runs before too
  std::uint64_t resumed = 0;     ///< of these, from the checkpoint
};

/// Collective. Error invalid_argument where the model is not held (no node is fixed), numbers stop
/// being finite, or the checkpoint is of another model or load.
Solution solve(MPI_Comm comm, const Mesh& mesh, const Load& load, const SolverOptions& options);

/// Sums `of(node plane)` over own planes of all ranks, in ascending order of planes. Collective.
double sum_by_planes(MPI_Comm comm, const Mesh& mesh,
                     const std::function<double(std::uint64_t)>& of);

/// product = K x for own nodes; takes ghosts of x from their owners first. x: 3 a local node.
/// Collective.
void multiply(MPI_Comm comm, const Mesh& mesh, std::vector<double>& x,
              std::vector<double>& product);

}  // namespace parabmu
