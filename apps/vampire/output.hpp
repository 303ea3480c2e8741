// The output of a run: by default one HDF5 file, written by all ranks through Sluice.
//
//   /coordinates (N, 3) f64 Angstrom, /material (N) i32: once;  /spins (steps, N, 3) f64: every
//   step.
// Row i is atom i, whichever rank owned it. A name that ends in .vtkhdf: the same arrays as the
// points of a grid, for ParaView.
#pragma once

#include <cstdint>
#include <memory>
#include <mpi.h>
#include <vector>

#include "atoms.hpp"
#include "options.hpp"
#include "sluice/sluice.hpp"

namespace vampire {

/// What output cost, the same on every rank.
struct OutputCost {
  std::uint64_t bytes = 0;
  std::uint64_t steps = 0;
  double seconds = 0;  ///< of the slowest rank
};

class Output {
 public:
  virtual ~Output() = default;
  /// Stores the spins of this rank's atoms, in the order of sample.atoms. Collective.
  virtual void write(double time_ps, const Vec3* spins, const Vec3& magnetisation) = 0;
  /// Waits until what was written is on disk: a checkpoint that counts it may then be saved.
  /// Collective.
  virtual void settle() {}
  /// Collective.
  virtual OutputCost close() = 0;
};

/// As the options say. `outputs`: the number of steps to keep of a run that is continued; 0: starts
/// anew. Collective.
std::unique_ptr<Output> open_output(MPI_Comm comm, const Sample& sample, const Options& options,
                                    std::int64_t outputs);

class FileOutput : public Output {
 public:
  /// Opens the file and writes constant data, unless it continues a run with `outputs` steps.
  /// Collective.
  FileOutput(MPI_Comm comm, const Sample& sample, const Options& options, std::int64_t outputs);

  void write(double time_ps, const Vec3* spins, const Vec3& magnetisation) override;
  void settle() override;
  OutputCost close() override;

 private:
  void begin(const Sample& sample, const Options& options);
  void describe(const Sample& sample, const Options& options);
  template <class Target, class T>
  void put(Target& target, sluice::Variable variable, const T* data, std::uint64_t columns);

  MPI_Comm comm_;
  double began_s_;  ///< when the constructor was entered
  const std::vector<std::uint64_t>& id_;
  std::uint64_t total_;
  bool contiguous_ = false;  ///< every rank's ids are one run
  sluice::File file_;
  sluice::Variable spins_;
  OutputCost cost_;
};

}  // namespace vampire
