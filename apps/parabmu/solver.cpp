#include "solver.hpp"

#include <cmath>
#include <optional>

#include "problem.hpp"
#include "sluice/checkpoint.hpp"

namespace parabmu {
namespace {

class Exchange {
 public:
  Exchange(MPI_Comm comm, const Mesh& mesh) : comm_(comm), mesh_(mesh) {}

  /// Brings ghosts of x.
  void operator()(std::vector<double>& x) {
    MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                               MPI_REQUEST_NULL};
    int at = 0;
    for (const Interface* side : {&mesh_.below, &mesh_.above}) {
      if (side->rank >= 0) {
        MPI_Irecv(x.data() + 3 * static_cast<std::size_t>(side->first_ghost), 3 * side->ghosts,
                  MPI_DOUBLE, side->rank, 3, comm_, &requests[at++]);
      }
    }
    std::size_t which = 0;
    for (const Interface* side : {&mesh_.below, &mesh_.above}) {
      std::vector<double>& out = out_[which++];
      if (side->rank < 0) {
        continue;
      }
      out.clear();
      for (const std::int32_t node : side->own) {
        const double* const from = x.data() + 3 * static_cast<std::size_t>(node);
        out.insert(out.end(), from, from + 3);
      }
      MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_DOUBLE, side->rank, 3, comm_,
                &requests[at++]);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }

 private:
  MPI_Comm comm_;
  const Mesh& mesh_;
  std::vector<double> out_[2];
};

void apply(const Mesh& mesh, const std::vector<double>& x, std::vector<double>& product) {
  for (std::uint64_t node = 0; node < mesh.owned; ++node) {
    const double* block = mesh.patterns[mesh.pattern_of[node]].blocks.data();
    double sums[4] = {0, 0, 0, 0};
    for (const std::int32_t neighbour : mesh.neighbours[node]) {
      const double* const value = x.data() + 3 * static_cast<std::size_t>(neighbour);
      for (int j = 0; j < 3; ++j, block += 4) {
        for (int i = 0; i < 4; ++i) {
          sums[i] += block[i] * value[j];
        }
      }
    }
    for (std::size_t i = 0; i < 3; ++i) {
      product[3 * node + i] = sums[i];
    }
  }
}

/// Products of two pairs of vectors at once: one wait.
class Dots {
 public:
  Dots(MPI_Comm comm, const Mesh& mesh) : comm_(comm), mesh_(mesh), sums_(2 * mesh.nodes[2]) {}

  double operator()(const std::vector<double>& a, const std::vector<double>& b) {
    return both(a, b, nullptr, nullptr)[0];
  }
  std::array<double, 2> both(const std::vector<double>& a, const std::vector<double>& b,
                             const std::vector<double>* c, const std::vector<double>* d) {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    const std::size_t pairs = c == nullptr ? 1 : 2;
    for (std::uint64_t p = 0; p < mesh_.planes; ++p) {
      const std::uint64_t begin = 3 * mesh_.plane_starts[p];
      const std::uint64_t end = 3 * mesh_.plane_starts[p + 1];
      double* const into = sums_.data() + pairs * (mesh_.first + p);
      for (std::uint64_t i = begin; i < end; ++i) {
        into[0] += a[i] * b[i];
      }
      for (std::uint64_t i = begin; pairs == 2 && i < end; ++i) {
        into[1] += (*c)[i] * (*d)[i];
      }
    }
    // Exact: of each entry all ranks but one have zero.
    MPI_Allreduce(MPI_IN_PLACE, sums_.data(), static_cast<int>(pairs * mesh_.nodes[2]), MPI_DOUBLE,
                  MPI_SUM, comm_);
    std::array<double, 2> result{};
    for (std::size_t i = 0; i < pairs * mesh_.nodes[2]; ++i) {
      result[i % pairs] += sums_[i];
    }
    return result;
  }

 private:
  MPI_Comm comm_;
  const Mesh& mesh_;
  std::vector<double> sums_;
};

class Iteration {
 public:
  Iteration(MPI_Comm comm, const Mesh& mesh, const Load& load)
      : mesh_(mesh),
        load_(load),
        dots_(comm, mesh),
        exchange_(comm, mesh),
        x_(3 * mesh.locals),
        direction_(3 * mesh.locals),
        residual_(3 * mesh.owned),
        scaled_(3 * mesh.owned),
        product_(3 * mesh.owned) {}

  /// Squared norm of the first residual.
  double begin() {
    std::copy(load_.displacement.begin(), load_.displacement.end(), x_.begin());
    exchange_(x_);
    apply(mesh_, x_, product_);
    for (std::size_t i = 0; i < residual_.size(); ++i) {
      residual_[i] = load_.fixed[i] != 0 ? 0 : load_.force[i] - product_[i];
    }
    precondition();
    std::copy(scaled_.begin(), scaled_.end(), direction_.begin());
    const auto both = dots_.both(residual_, scaled_, &residual_, &residual_);
    weighted_ = both[0];
    return both[1];
  }

  /// Squared norm of the next residual.
  double next() {
    exchange_(direction_);
    apply(mesh_, direction_, product_);
    for (std::size_t i = 0; i < product_.size(); ++i) {
      product_[i] = load_.fixed[i] != 0 ? 0 : product_[i];
    }
    const double step = weighted_ / dots_(direction_, product_);
    for (std::size_t i = 0; i < residual_.size(); ++i) {
      x_[i] += step * direction_[i];
      residual_[i] -= step * product_[i];
    }
    precondition();
    const auto both = dots_.both(residual_, scaled_, &residual_, &residual_);
    const double ratio = both[0] / weighted_;
    weighted_ = both[0];
    for (std::size_t i = 0; i < residual_.size(); ++i) {
      direction_[i] = scaled_[i] + ratio * direction_[i];
    }
    return both[1];
  }

  /// What next() goes on from; the rest is found again by begin().
  void register_in(sluice::Checkpoint& state) {
    const sluice::Selection mine{.start = {mesh_.offset, 0}, .count = {mesh_.owned, 3}};
    state.array("x", x_.data(), {mesh_.total, 3}, mine);
    state.array("direction", direction_.data(), {mesh_.total, 3}, mine);
    state.array("residual", residual_.data(), {mesh_.total, 3}, mine);
    state.value("weighted", weighted_);
  }

  std::vector<double> take() {
    exchange_(x_);
    return std::move(x_);
  }

 private:
  void precondition() {
    for (std::uint64_t node = 0; node < mesh_.owned; ++node) {
      const auto& diagonal = mesh_.patterns[mesh_.pattern_of[node]].diagonal;
      for (std::size_t i = 0; i < 3; ++i) {
        scaled_[3 * node + i] = residual_[3 * node + i] / diagonal[i];
      }
    }
  }

  const Mesh& mesh_;
  const Load& load_;
  Dots dots_;
  Exchange exchange_;
  std::vector<double> x_;
  std::vector<double> direction_;
  std::vector<double> residual_;
  std::vector<double> scaled_;
  std::vector<double> product_;
  double weighted_ = 0;
};

/// Where the iterations are: the same on every rank.
struct Progress {
  std::uint64_t problem = 0;  ///< `problem_of`
  double first = 0;           ///< squared norm of the first residual
  double relative = 1;
  std::uint64_t iterations = 0;
};

/// Goes on from what a run before has saved. Collective.
void restore(sluice::Checkpoint& state, const std::string& path, Iteration& iteration,
             Progress& at) {
  const std::uint64_t problem = at.problem;
  iteration.register_in(state);
  state.value("problem", at.problem);
  state.value("first", at.first);
  state.value("relative", at.relative);
  state.value("iterations", at.iterations);
  state.restore();
  if (at.problem != problem) {
    throw Error(Code::invalid_argument, path +
                                            ": is a checkpoint of another model, material, voxel "
                                            "size or load: move it away");
  }
}

}  // namespace

Solution solve(MPI_Comm comm, const Mesh& mesh, const Load& load, const SolverOptions& options) {
  std::int64_t fixed = 0;
  for (const std::uint8_t is_fixed : load.fixed) {
    fixed += is_fixed;
  }
  if (sum(comm, fixed) == 0) {
    throw Error(Code::invalid_argument,
                "nothing holds the model: no constraint fixes a displacement");
  }
  Solution solution;
  Iteration iteration(comm, mesh, load);
  Progress at{.problem = 0, .first = iteration.begin()};
  std::optional<sluice::Checkpoint> state;
  if (at.first == 0) {
    at.relative = 0;
  } else if (!options.checkpoint.empty()) {
    state.emplace(comm, options.checkpoint,
                  sluice::CheckpointOptions{.interval_calls = options.checkpoint_every});
    at.problem = problem_of(comm, mesh, load);
    restore(*state, options.checkpoint, iteration, at);
  }
  solution.resumed = at.iterations;
  solution.residuals.push_back(at.relative);
  solution.converged = at.relative == 0 || (at.iterations > 0 && at.relative <= options.tolerance);
  while (!solution.converged && !solution.stopped && at.iterations < options.most_iterations) {
    at.relative = std::sqrt(iteration.next() / at.first);
    ++at.iterations;
    if (!std::isfinite(at.relative)) {
      throw Error(Code::invalid_argument,
                  "the residual is no longer finite after " + std::to_string(at.iterations) +
                      " iterations: is a part of the model not held by any constraint?");
    }
    solution.residuals.push_back(at.relative);
    solution.converged = at.relative <= options.tolerance;
    if (state && state->due()) {
      state->save(static_cast<double>(at.iterations));
    }
    solution.stopped = state && state->ending() && !solution.converged;
  }
  if (state) {
    state->close();
  }
  solution.iterations = at.iterations;
  solution.displacements = iteration.take();
  return solution;
}

double sum_by_planes(MPI_Comm comm, const Mesh& mesh,
                     const std::function<double(std::uint64_t)>& of) {
  std::vector<double> sums(mesh.nodes[2]);
  for (std::uint64_t z = mesh.first; z < mesh.first + mesh.planes; ++z) {
    sums[z] = of(z);
  }
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM,
                comm);
  double total = 0;
  for (const double value : sums) {
    total += value;
  }
  return total;
}

void multiply(MPI_Comm comm, const Mesh& mesh, std::vector<double>& x,
              std::vector<double>& product) {
  Exchange exchange(comm, mesh);
  exchange(x);
  product.resize(3 * mesh.owned);
  apply(mesh, x, product);
}

}  // namespace parabmu
