// Where the driver for programs of HDF5 lies, and what tells their HDF5 to load it.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace sluice::cli {

/// The folder of libsluice_hdf5_driver.so: SLUICE_HDF5_DRIVER_PATH, else beside this command, else
/// in the Python package that it came with. Error not_found: naming it while it is not there would
/// keep every program of HDF5 from starting.
std::string driver_folder();
/// Where pip puts the Python package of a command that lies in `bin`: beside it (--target), or into
/// the packages of a Python below the same prefix. The one written last first, as the command was.
std::vector<std::filesystem::path> package_folders(const std::filesystem::path& bin);

/// The variables to set, and their values: HDF5_DRIVER, HDF5_PLUGIN_PATH (what it was is kept).
std::vector<std::pair<std::string, std::string>> driver_environment();

}  // namespace sluice::cli
