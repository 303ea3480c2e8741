// Conjugate gradients with Jacobi's preconditioner, over the ranks of a mesh.
//
// Invariant: all arithmetic is done in an order that depends on the mesh alone. Products are summed
// by node planes, each by its one owner, and planes in ascending order by every rank; so iterates
// are bit-identical on any number of ranks.
#pragma once

#include <functional>

#include "constraints.hpp"

namespace parabmu {

struct SolverOptions {
  std::uint64_t most_iterations = 1000;
  double tolerance = 1e-9;  ///< of the residual's norm over that of the first
};

struct Solution {
  std::vector<double> displacements;  ///< 3 a local node, ghosts too
  std::vector<double> residuals;      ///< relative, after each iteration; the first is 1
  bool converged = false;
  std::uint64_t iterations() const { return residuals.empty() ? 0 : residuals.size() - 1; }
};

/// Collective. Error invalid_argument where the model is not held (no node is fixed), or numbers
/// stop being finite.
Solution solve(MPI_Comm comm, const Mesh& mesh, const Load& load, const SolverOptions& options);

/// Sums `of(node plane)` over own planes of all ranks, in ascending order of planes. Collective.
double sum_by_planes(MPI_Comm comm, const Mesh& mesh,
                     const std::function<double(std::uint64_t)>& of);

/// product = K x for own nodes; takes ghosts of x from their owners first. x: 3 a local node.
/// Collective.
void multiply(MPI_Comm comm, const Mesh& mesh, std::vector<double>& x,
              std::vector<double>& product);

}  // namespace parabmu
