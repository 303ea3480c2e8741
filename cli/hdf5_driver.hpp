// Location of the driver for HDF5 programs, and the variables that make their HDF5 load it.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace sluice::cli {

/// The folder of libsluice_hdf5_driver.so: SLUICE_HDF5_DRIVER_PATH, else beside this command, else
/// in the Python package that it came with. Error not_found: naming a missing driver would keep
/// every HDF5 program from starting.
std::string driver_folder();
/// Where pip installs the Python package of a command in `bin`: beside it (--target), or in the
/// packages of a Python below the same prefix. The newest first, as the command was installed with
/// it.
std::vector<std::filesystem::path> package_folders(const std::filesystem::path& bin);

/// The variables to set, and their values: HDF5_DRIVER, HDF5_PLUGIN_PATH (its old value is kept).
std::vector<std::pair<std::string, std::string>> driver_environment();

}  // namespace sluice::cli
