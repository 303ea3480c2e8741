// Memory of a GPU, which the processor cannot read.
//
// Invariants: no library of a GPU is loaded or initialised from here; only one that the program has
// loaded itself is asked. A process without one pays for a look at the number of libraries loaded.
#pragma once

#include <string>

namespace sluice::exec {

/// "CUDA" or "HIP" where `pointer` is to device memory that the processor cannot read, else null.
const char* device_of(const void* pointer) noexcept;

/// Error invalid_argument where `pointer` is to device memory; `what`, a text or a function that
/// makes it, says of which call.
template <class What>
void refuse_device_memory(const void* pointer, What&& what);

// -- implementation -------------------------------------------------------------------------------

[[noreturn]] void throw_device_memory(const char* device, const std::string& what);

template <class What>
void refuse_device_memory(const void* pointer, What&& what) {
  if (const char* device = device_of(pointer)) {
    throw_device_memory(device, what());
  }
}

}  // namespace sluice::exec
