// Executes a script, command by command.
//
// Invariants: what a result needs (mesh, solution) is made when the first command needs it, and
// again after a command that changed it; every error names the script's line.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "constraints.hpp"
#include "model.hpp"
#include "results.hpp"
#include "script.hpp"
#include "solver.hpp"

namespace parabmu {

/// Seconds of a phase on the slowest rank.
struct Phase {
  std::string name;
  double seconds = 0;
};

class Simulation {
 public:
  /// `residuals`: a file that gets the relative residual of every iteration, "" for none.
  Simulation(MPI_Comm comm, std::string script, std::string residuals);

  /// Collective.
  void run(const std::vector<Command>& commands);
  /// False if a solution was requested that the iterations did not reach.
  bool converged() const { return converged_; }
  /// True where the job ends before the script does: the next run goes on from the checkpoint.
  bool stopped() const { return solution_ && solution_->stopped; }
  const std::vector<Phase>& phases() const { return phases_; }

 private:
  void carry_out(const Command& command);
  void set_number(const Command& command);
  void load(const Command& command);
  void compute_energy();
  void print(const Command& command);
  void need_mesh();
  /// False where the solver was stopped.
  bool need_solution();
  void write_residuals() const;
  void say(const std::string& line) const;
  void time(const std::string& phase, const std::function<void()>& body);

  MPI_Comm comm_;
  std::string script_;
  std::string residuals_path_;
  std::string materials_file_;
  std::string model_file_;  ///< of voxels_
  std::optional<Materials> materials_;
  std::optional<std::array<double, 3>> voxel_size_;
  SolverOptions solver_;
  bool balance_ = true;
  std::string codec_ = "none";
  std::optional<Voxels> voxels_;
  std::optional<Mesh> mesh_;
  Constraints constraints_;
  std::optional<Solution> solution_;
  bool converged_ = true;
  std::vector<Phase> phases_;
  std::map<std::string, std::uint64_t> printed_;  ///< steps of VTKHDF files of this run
};

}  // namespace parabmu
