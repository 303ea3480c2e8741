#include "hdf5_driver.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

#include "sluice/error.hpp"

namespace sluice::cli {

namespace {

namespace fs = std::filesystem;

const char* const driver_name = "libsluice_hdf5_driver.so";
/// Where HDF5 looks by default.
const char* const default_plugins = "/usr/local/hdf5/lib/plugin";

std::vector<fs::path> candidates() {
  if (const char* told = std::getenv("SLUICE_HDF5_DRIVER_PATH")) {
    return {told};
  }
  std::error_code problem;
  const fs::path own = fs::read_symlink("/proc/self/exe", problem).parent_path();
  std::vector<fs::path> folders{own / SLUICE_DRIVER_FOLDER, own.parent_path() / "hdf5_driver"};
  for (const fs::path& package : package_folders(own)) {
    folders.push_back(package / "lib" / "sluice" / "hdf5_driver");
  }
  return folders;
}

}  // namespace

std::vector<std::filesystem::path> package_folders(const std::filesystem::path& bin) {
  const fs::path prefix = bin.parent_path();
  std::vector<fs::path> found{prefix / "sluice"};
  for (const char* const lib : {"lib", "lib64"}) {
    std::error_code problem;
    fs::directory_iterator python(prefix / lib, problem);
    for (; python != fs::directory_iterator(); python.increment(problem)) {
      if (python->path().filename().string().rfind("python3", 0) == 0) {
        found.push_back(python->path() / "site-packages" / "sluice");
        found.push_back(python->path() / "dist-packages" / "sluice");
      }
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    std::error_code absent;  // then the earliest possible time is used
    return fs::last_write_time(a, absent) > fs::last_write_time(b, absent);
  });
  return found;
}

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
