// bench_namd: the output phases of apps/namd, by NAMD's own ways and by Sluice.
//
// Job: namd/write with path, way (files, in-turn, at-once, sluice), writers, atoms, patches, steps,
// compute_ms (before each step, on every rank), settings (of Sluice, as in sluice.toml, by
// semicolons) and verify. Answers visible_s (in calls of the output, all steps and the close
// together), close_s, total_s (from the first step until everything is on the disk, computing
// included).
#include <algorithm>
#include <filesystem>

#include "api/config/settings.hpp"
#include "common.hpp"
#include "phases.hpp"

namespace sluice::bench {
namespace {

Values write_phases(World& world, const Job& job) {
  const std::string folder = job.text("path");
  start_afresh(world, folder);
  if (world.rank() == 0) {
    std::filesystem::create_directory(folder);
  }
  MPI_Barrier(world.comm());
  namd::Phases phases;
  phases.patches = job.number("patches");
  phases.compute_s = static_cast<double>(job.number("compute_ms")) / 1000;
  namd::TrajectoryOptions& options = phases.trajectory;
  options.way = namd::way_of(job.text("way"));
  options.path = folder + (options.way == namd::Way::sluice ? "/run.h5" : "/run");
  options.atoms = job.number("atoms");
  options.steps = job.number("steps");
  options.writers = static_cast<int>(job.number("writers"));
  std::string settings = job.text("settings", "");
  std::replace(settings.begin(), settings.end(), ';', '\n');
  options.sluice = parse_options(settings);
  options.sluice.writers = options.writers;
  const namd::PhaseTimes times = namd::run_phases(world.comm(), phases);
  if (job.number("verify")) {
    namd::verify_trajectory(world.comm(), options);
  }
  return {{"visible_s", times.visible_s}, {"close_s", times.close_s}, {"total_s", times.total_s}};
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  return sluice::bench::serve(argc, argv, {{"namd/write", sluice::bench::write_phases}});
}
