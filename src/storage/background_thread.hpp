// Threads of the library in processes of programs.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <thread>

namespace sluice::storage {

/// Blocks all signals of the calling thread, and so of the threads that it starts.
class SignalsBlocked {
 public:
  SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked();

 private:
  sigset_t before_{};
};

/// Where a thread may run.
enum class Cores : std::uint8_t {
  /// Every core of the process's cpuset: the rank's own, to which mpirun may have bound it, is busy
  /// computing. The cpuset is the only limit: a confinement by taskset, or by Slurm's affinity
  /// without cgroups, looks like such a binding, and is left as well. Threads for which ranks wait
  /// take it too, unless it was measured to be slower. Where it is refused: as of_starter.
  any,
  /// Where the thread that starts it may: the writer of strategies for which ranks wait, and what
  /// runs in programs that need not be ranks of MPI (the HDF5 driver).
  of_starter,
};

/// A thread that receives no signal of the program: its handlers run in its own threads. Throws
/// std::system_error where no thread is to be had.
std::thread start_background(std::function<void()> work, Cores cores = Cores::any);

}  // namespace sluice::storage
