// Threads of the library in processes of programs.
#pragma once

#include <functional>
#include <thread>

namespace sluice::storage {

/// A thread that receives no signal of the program: its handlers run in its own threads. Throws
/// std::system_error where no thread is to be had.
std::thread start_background(std::function<void()> work);

}  // namespace sluice::storage
