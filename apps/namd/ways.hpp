// The two kinds of trajectories of make_trajectory().
#pragma once

#include <memory>
#include <string>

#include "trajectory.hpp"

namespace namd {

std::unique_ptr<Trajectory> make_own(MPI_Comm comm, const TrajectoryOptions& options);
std::unique_ptr<Trajectory> make_sluice(MPI_Comm comm, const TrajectoryOptions& options);

/// One of several equal shares of the atoms, by id.
struct Share {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};
inline Share share_of(std::uint64_t atoms, int share, int shares) {
  const auto nth = static_cast<std::uint64_t>(share);
  const auto all = static_cast<std::uint64_t>(shares);
  return {atoms * nth / all, atoms * (nth + 1) / all - atoms * nth / all};
}

/// Positions of consecutive ids of `step` out of a file's own ones: Error damaged where one
/// differs.
void compare(const std::string& path, std::uint64_t step, std::uint64_t first,
             const std::vector<Position>& found);

/// Each of `steps` files that end in the number of the step: "path.000003".
std::string path_of_step(const std::string& path, std::uint64_t step);

/// What a share of the atoms is in the files of the own ways. Local.
std::vector<Position> read_own(const TrajectoryOptions& options, std::uint64_t step,
                               const Share& share);
/// The same of Sluice's, all steps, compared. Collective.
void verify_sluice(MPI_Comm comm, const TrajectoryOptions& options);

}  // namespace namd
