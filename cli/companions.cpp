#include "companions.hpp"

#include <algorithm>
#include <cstdlib>

namespace sluice::cli {

namespace fs = std::filesystem;

namespace {

/// Where pip installs the Python package of a command in `bin`.
std::vector<fs::path> package_folders(const fs::path& bin) {
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

}  // namespace

std::vector<fs::path> companion_folders(const CompanionPlaces& places) {
  if (const char* told = std::getenv(places.variable)) {
    return {told};
  }
  std::error_code problem;
  const fs::path own = fs::read_symlink("/proc/self/exe", problem).parent_path();
  std::vector<fs::path> folders{own / places.installed, own.parent_path() / places.built};
  for (const fs::path& package : package_folders(own)) {
    folders.push_back(package / places.packaged);
  }
  return folders;
}

}  // namespace sluice::cli
