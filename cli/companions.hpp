// Where the libraries are that come with this command.
#pragma once

#include <filesystem>
#include <vector>

namespace sluice::cli {

/// A folder of libraries by each way in which the command is installed.
struct CompanionPlaces {
  const char* variable;  ///< the environment variable that names the folder: then no other counts
  std::filesystem::path installed;  ///< from the folder of the command
  std::filesystem::path built;      ///< from the folder above that
  std::filesystem::path packaged;   ///< in the Python package
};

/// The folders to look in, in this order: beside the command, in the build, and in the Python
/// packages that pip has installed beside it or below its prefix, the newest first, as the command
/// was installed with it.
std::vector<std::filesystem::path> companion_folders(const CompanionPlaces& places);

}  // namespace sluice::cli
