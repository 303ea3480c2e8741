// What went wrong, on the error stack of the HDF5 that called: so that a program gets the exception
// that it would get without the driver (FileNotFoundError, "no space left"), with our words in it.
//
// Invariant: where the HDF5 of the caller has no H5Epush2, nothing is pushed.
#pragma once

#include <string>

#include "sluice/error.hpp"

namespace sluice::plugin {

/// Which of HDF5's codes belongs to the call that failed.
enum class Failed : unsigned char { open, read, write, close };

/// `caller`: an address in the HDF5 that called the driver. With the errno that such a failure has
/// elsewhere, in HDF5's way of writing it, which h5py reads.
void push_error(const void* caller, Failed call, Code code, const std::string& text) noexcept;

}  // namespace sluice::plugin
