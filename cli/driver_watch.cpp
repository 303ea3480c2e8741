#include "driver_watch.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <string_view>
#include <unistd.h>

#include "plugin/run_report.hpp"
#include "sluice/error.hpp"
#include "text/text.hpp"

namespace sluice::cli {

namespace {

/// Their programs run on other nodes, below a daemon, or later, where the report's file may not be
/// seen.
constexpr std::array<std::string_view, 13> remote_starters{
    "ssh",    "rsh",  "srun",    "aprun",  "jsrun", "lrun", "flux",
    "pbsdsh", "qrsh", "blaunch", "sbatch", "qsub",  "bsub"};
/// More processes than this are not looked through.
constexpr int most_processes = 4096;

/// The HDF5-related files that a process has mapped.
struct Mapped {
  std::string hdf5;  ///< the first libhdf5
  bool driver = false;
};

Mapped mapped_of(pid_t process) {
  Mapped mapped;
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  for (std::string line; std::getline(maps, line);) {
    const std::size_t slash = line.find('/');
    if (slash == std::string::npos) {
      continue;
    }
    const std::string path = line.substr(slash);
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name == "libsluice_hdf5_driver.so") {
      mapped.driver = true;
    }
    if (mapped.hdf5.empty() && (name.rfind("libhdf5-", 0) == 0 || name.rfind("libhdf5.", 0) == 0 ||
                                name.rfind("libhdf5_serial", 0) == 0)) {
      mapped.hdf5 = path;
    }
  }
  return mapped;
}

/// "1.10.8", the version in the library's own text; empty if it has none.
std::string version_of(const std::string& library) {
  constexpr std::string_view before = "HDF5 library version: ";
  std::ifstream file(library, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::size_t found = bytes.find(before);
  if (found == std::string::npos) {
    return {};
  }
  const std::size_t from = found + before.size();
  return bytes.substr(from, bytes.find_first_not_of("0123456789.", from) - from);
}

bool is_too_old(const std::string& version) {
  int major = 0;
  int minor = 0;
  return std::sscanf(version.c_str(), "%d.%d", &major, &minor) == 2 &&
         (major < 1 || (major == 1 && minor < 14));
}

std::string name_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/comm", process));
  std::string name;
  std::getline(file, name);
  return name;
}

/// A run in a run has an HDF5 of its own.
bool is_this_command(pid_t process) {
  std::error_code problem;
  return std::filesystem::equivalent(fmt::format("/proc/{}/exe", process), "/proc/self/exe",
                                     problem);
}

/// Does the process, or one below it, start programs elsewhere? `left`: processes to look at.
bool starts_elsewhere(pid_t process, int& left) {
  const std::string name = name_of(process);
  if (std::find(remote_starters.begin(), remote_starters.end(), name) != remote_starters.end()) {
    return true;
  }
  // Of its first thread, which is the one that shells and launchers start programs from.
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", process));
  for (pid_t child = 0; left > 0 && children >> child;) {
    --left;
    if (starts_elsewhere(child, left)) {
      return true;
    }
  }
  return false;
}

}  // namespace

DriverWatch::DriverWatch() {
  if (const char* const outer = std::getenv(plugin::report_variable);
      outer != nullptr && ::access(outer, W_OK) == 0) {
    file_ = outer;  // a run in a run: the outer one wants to know, too
    return;
  }
  const char* const temporary = std::getenv("TMPDIR");
  try {
    folder_.emplace(temporary != nullptr && *temporary != '\0' ? temporary : "/tmp", "sluice-run");
  } catch (const Error&) {
    return;
  }
  // Its bytes are there before: the report needs no space on a full disk.
  const std::string file = folder_->path() + "/driver";
  if (std::ofstream(file) << plugin::not_loaded << std::flush) {
    file_ = file;
    ::setenv(plugin::report_variable, file_.c_str(), 1);
  }
}

bool DriverWatch::is_reported() const {
  char state = plugin::not_loaded;
  std::ifstream(file_).get(state);
  return state == plugin::loaded;
}

void DriverWatch::look(pid_t process) {
  if (is_settled_) {
    return;
  }
  int left = most_processes;
  const Mapped mapped = mapped_of(process);
  if (mapped.driver || is_reported() || starts_elsewhere(process, left)) {
    is_settled_ = true;
  } else if (!mapped.hdf5.empty() && !is_this_command(process)) {
    const std::string version = version_of(mapped.hdf5);
    is_settled_ = is_too_old(version);
    if (is_settled_) {
      show_error(fmt::format(
          "the program's HDF5 {} ({}) is older than 1.14 and cannot load a driver: its files are "
          "not crash-safe",
          version, mapped.hdf5));
    }
  }
}

void DriverWatch::end() {
  if (!is_settled_ && !file_.empty() && !is_reported()) {
    show_error(
        "no HDF5 of the program loaded the driver: it used none, or one that is older than 1.14; "
        "its files may not be crash-safe");
  }
  folder_.reset();
  file_.clear();
}

}  // namespace sluice::cli
