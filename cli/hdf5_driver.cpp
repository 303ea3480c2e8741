#include "hdf5_driver.hpp"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

#include "companions.hpp"
#include "sluice/error.hpp"

namespace sluice::cli {

namespace {

namespace fs = std::filesystem;

const char* const driver_name = "libsluice_hdf5_driver.so";
/// Where HDF5 looks by default.
const char* const default_plugins = "/usr/local/hdf5/lib/plugin";

std::vector<fs::path> candidates() {
  return companion_folders({"SLUICE_HDF5_DRIVER_PATH", SLUICE_DRIVER_FOLDER, "hdf5_driver",
                            fs::path("lib") / "sluice" / "hdf5_driver"});
}

}  // namespace

std::string driver_folder() {
  for (const fs::path& folder : candidates()) {
    std::error_code problem;
    if (fs::exists(folder / driver_name, problem)) {
      return fs::absolute(folder).lexically_normal().string();
    }
  }
  throw Error(Code::not_found,
              fmt::format("{} is not beside the command: set SLUICE_HDF5_DRIVER_PATH to its folder",
                          driver_name));
}

std::vector<std::pair<std::string, std::string>> driver_environment() {
  const std::string folder = driver_folder();
  const char* before = std::getenv("HDF5_PLUGIN_PATH");
  std::string path = folder;
  const std::string rest = before != nullptr && *before != '\0' ? before : default_plugins;
  if ((":" + rest + ":").find(":" + folder + ":") == std::string::npos) {
    path += ":" + rest;
  } else {
    path = rest;
  }
  return {{"HDF5_DRIVER", "sluice"}, {"HDF5_PLUGIN_PATH", path}};
}

}  // namespace sluice::cli
