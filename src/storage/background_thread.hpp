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
  any,         ///< every core that the process may have at all: the rank's own, to which mpirun may
               ///< have bound it, is busy computing. Where that is refused: as of_starter
  of_starter,  ///< where the thread that starts it may: for work for which that one waits
};

/// A thread that receives no signal of the program: its handlers run in its own threads. Throws
/// std::system_error where no thread is to be had.
std::thread start_background(std::function<void()> work, Cores cores = Cores::any);

}  // namespace sluice::storage
