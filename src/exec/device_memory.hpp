// Detection of GPU memory, which the processor cannot read.
//
// Invariants: no GPU library is loaded or initialised here; only one that the program has loaded
// itself is called. A process without one pays for one comparison of the number of loaded
// libraries.
#pragma once

#include <string>

namespace sluice::exec {

/// "CUDA" or "HIP" if `pointer` is to device memory that the processor cannot read, else null.
const char* device_of(const void* pointer) noexcept;

/// Error invalid_argument if `pointer` is to device memory; `what`, a text or a function that makes
/// it, names the call.
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
