// The run of a script.
//
// Invariant: on any error, one rank prints one line, and all ranks exit with code 2.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <mpi.h>

#include "common/comm.hpp"
#include "simulation.hpp"

namespace parabmu {
namespace {

void show_phases(const std::vector<Phase>& phases, double total_s, bool json) {
  std::string text;
  for (const Phase& phase : phases) {
    char buffer[96];
    std::snprintf(buffer, sizeof buffer, json ? "\"%s_s\": %.6f, " : "%s %.3f s, ",
                  phase.name.c_str(), phase.seconds);
    text += buffer;
  }
  std::printf(json ? "{%s\"total_s\": %.6f}\n" : "time: %sin all %.3f s\n", text.c_str(), total_s);
}

/// The exit code.
int run(MPI_Comm comm, int argc, char** argv) {
  CLI::App app(
      "Linear elasticity on voxels: carries out a script of VOX-FE's language on all ranks.\n"
      "Paths in a script are relative to the working folder.",
      "parabmu");
  std::string script;
  std::string residuals;
  bool json = false;
  app.add_option("SCRIPT", script, "what to do, one command a line")->required();
  app.add_option("--residuals", residuals,
                 "writes the relative residual of each iteration of this run");
  app.add_flag("--json", json, "the last line: seconds of the slowest rank, for programs");
  app.footer("Commands of a script:\n" + script_help() +
             "\nExit code: 0 done (the solver says whether it converged), 2 bad input.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return rank_of(comm) == 0 ? app.exit(asked) : 0;
  } catch (const CLI::ParseError& error) {
    throw Error(Code::invalid_argument, error.what());
  }
  const double began_s = MPI_Wtime();
  Simulation simulation(comm, script, residuals);
  simulation.run(share_script(comm, script));
  const double total_s = largest(comm, MPI_Wtime() - began_s);
  if (rank_of(comm) == 0) {
    show_phases(simulation.phases(), total_s, json);
  }
  return 0;
}

}  // namespace
}  // namespace parabmu

int main(int argc, char** argv) { return app::run_program(argc, argv, "parabmu", parabmu::run); }
