// Threads of the library in processes of programs.
#pragma once

#include <csignal>
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

/// A thread that receives no signal of the program: its handlers run in its own threads. Throws
/// std::system_error where no thread is to be had.
std::thread start_background(std::function<void()> work);

}  // namespace sluice::storage
