// Output of the positions of all atoms, step by step: by NAMD's own methods, and by Sluice.
#pragma once

#include <cstdint>
#include <memory>
#include <mpi.h>
#include <string>

#include "common/comm.hpp"
#include "patches.hpp"
#include "sluice/options.hpp"

namespace namd {

using app::agree;
using app::Code;
using app::Error;
using app::rank_of;
using app::size_of;

/// How a trajectory is written.
enum class Way : std::uint8_t {
  sluice,   ///< by sluice::File: HDF5 (H5MD), DCD, or a NAMDBIN file a step
  files,    ///< each writer a file of its own, a step
  in_turn,  ///< one NAMDBIN file for each step; one writer at a time, passing a token
  at_once,  ///< the same file; all writers at the same time, at the offset of their atoms,
            ///< unaligned
};

/// "sluice", "files", "in-turn", "at-once"; Error invalid_argument.
Way way_of(const std::string& word);

struct TrajectoryOptions {
  std::string path;
  std::uint64_t atoms = 0;
  std::uint64_t steps = 0;
  Way way = Way::sluice;
  /// 1 .. ranks; evenly spread. Sluice's are `sluice.writers`.
  int writers = 1;
  /// close() returns when everything is on the disk, not only in its cache. For Sluice this is
  /// `sluice.durability`.
  bool durable = true;
  sluice::Options sluice = {};  ///< format: by the path's ending
};

class Trajectory {
 public:
  virtual ~Trajectory() = default;
  /// The positions of all atoms in their step; steps in order, from 0. On return the patches may
  /// change. Collective.
  virtual void write(const Patches& patches) = 0;
  /// Called between steps, during the computation: progresses pending output. Local.
  virtual void poll() {}
  /// On return everything is written. Collective.
  virtual void close() = 0;
};

/// Collective.
std::unique_ptr<Trajectory> make_trajectory(MPI_Comm comm, const TrajectoryOptions& options);

/// Reads every position of every step back, each rank its share, and compares. Collective. Error
/// damaged with the first one that differs.
void verify_trajectory(MPI_Comm comm, const TrajectoryOptions& options);

}  // namespace namd
