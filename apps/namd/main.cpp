// namd_io: the output of a molecular dynamics code, without the dynamics, at any size.
//
// Invariant: on any error, one rank prints one line, and all ranks exit with code 2.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <mpi.h>

#include "api/config/settings.hpp"
#include "common/comm.hpp"
#include "phases.hpp"

namespace namd {
namespace {

constexpr double bytes_an_mb = 1e6;

void show(const Phases& phases, const PhaseTimes& times, bool json) {
  const TrajectoryOptions& options = phases.trajectory;
  const double megabytes =
      static_cast<double>(options.atoms * options.steps) * sizeof(Position) / bytes_an_mb;
  std::printf(json ? "{\"megabytes\": %.3f, \"visible_s\": %.6f, \"close_s\": %.6f, "
                     "\"total_s\": %.6f}\n"
                   : "%.1f MB; visible %.3f s, of which %.3f s at the close; in all %.3f s\n",
              megabytes, times.visible_s, times.close_s, times.total_s);
}

int run(MPI_Comm comm, int argc, char** argv) {
  CLI::App app(
      "Writes the positions of atoms in patches, step by step, as a molecular dynamics code does:\n"
      "every patch holds arbitrary atoms, other ones each step.",
      "namd_io");
  Phases phases;
  TrajectoryOptions& options = phases.trajectory;
  options.atoms = 100000;
  options.steps = 5;
  std::string way = "sluice";
  std::string settings;
  double compute_ms = 0;
  bool verify = false;
  bool json = false;
  app.add_option("OUTPUT", options.path, ".h5 (H5MD), .vtkhdf, .dcd or .coor; else with --way")
      ->required();
  app.add_option("--atoms", options.atoms, "24 bytes each a step")->capture_default_str();
  app.add_option("--patches", phases.patches, "of all ranks")->capture_default_str();
  app.add_option("--steps", options.steps)->capture_default_str();
  app.add_option("--way", way,
                 "sluice; or as before: files (one a writer), in-turn (one writer at a time), "
                 "at-once (all writers, unaligned)")
      ->capture_default_str();
  app.add_option("--writers", options.writers, "ranks that write")->capture_default_str();
  app.add_option("--set", settings, "of Sluice, as in sluice.toml: 'strategy=\"forward\"'");
  app.add_option("--compute-ms", compute_ms, "computing before each step")->capture_default_str();
  app.add_flag("!--no-sync", options.durable, "the own ways leave the data in the cache");
  app.add_flag("--verify", verify, "reads everything back and compares");
  app.add_flag("--json", json, "the figures for programs");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return rank_of(comm) == 0 ? app.exit(asked) : 0;
  } catch (const CLI::ParseError& error) {
    throw Error(Code::invalid_argument, error.what());
  }
  options.way = way_of(way);
  options.sluice = sluice::parse_options(settings);
  options.sluice.writers = options.writers;
  phases.compute_s = compute_ms / 1000;
  const PhaseTimes times = run_phases(comm, phases);
  if (verify) {
    verify_trajectory(comm, options);
  }
  if (rank_of(comm) == 0) {
    show(phases, times, json);
  }
  return 0;
}

}  // namespace
}  // namespace namd

int main(int argc, char** argv) { return app::run_program(argc, argv, "namd_io", namd::run); }
