// What a program has set in the access property list (fapl) of an opening, as far as it concerns
// the driver.
//
// Invariant: only functions of the HDF5 that called are used, and only if it has them.
#pragma once

#include "plugin/hdf5_abi.hpp"

namespace sluice::plugin {

struct AccessList {
  bool asks_locks = true;     ///< H5Pset_file_locking: of HDF5 1.14, 1.12.1 and 1.10.7
  bool clears_marks = false;  ///< h5clear -s: HDF5 takes the marks of an open file away
};

/// `caller`: an address in the HDF5 that called the driver.
AccessList access_list_of(const void* caller, abi::Id list) noexcept;

}  // namespace sluice::plugin
