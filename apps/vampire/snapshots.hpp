// Output of a run in VAMPIRE's own formats: a folder of snapshots, in any of its modes.
//
// Rows are in the order of the ranks, each rank's atoms in ascending order of id, the same in the
// coordinates and in every snapshot.
#pragma once

#include <memory>
#include <mpi.h>

#include "atoms.hpp"
#include "dialect/vampire/write.hpp"
#include "options.hpp"
#include "output.hpp"

namespace vampire {

class SnapshotOutput : public Output {
 public:
  /// Makes the folder and writes the coordinates. Collective.
  SnapshotOutput(MPI_Comm comm, const Sample& sample, const Options& options);

  void write(double time_ps, const Vec3* spins, const Vec3& magnetisation) override;
  OutputCost close() override;

 private:
  /// One line about what a snapshot cost, on rank 0.
  void say(const sluice::dialect::vampire::WriteCost& cost) const;

  MPI_Comm comm_;
  const Options& options_;
  std::vector<std::size_t> chosen_;  ///< of this rank's atoms those that are written
  std::unique_ptr<sluice::exec::Transport> transport_;
  std::unique_ptr<sluice::dialect::vampire::SnapshotWriter> writer_;
  OutputCost cost_;
};

}  // namespace vampire
