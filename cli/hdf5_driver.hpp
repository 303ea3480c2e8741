// Location of the driver for HDF5 programs, and the variables that make their HDF5 load it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sluice::cli {

/// The folder of libsluice_hdf5_driver.so: SLUICE_HDF5_DRIVER_PATH, else beside this command, else
/// in the Python package that it came with. Error not_found: naming a missing driver would keep
/// every HDF5 program from starting.
std::string driver_folder();

/// The variables to set, and their values: HDF5_DRIVER, HDF5_PLUGIN_PATH (its old value is kept).
std::vector<std::pair<std::string, std::string>> driver_environment();

}  // namespace sluice::cli
