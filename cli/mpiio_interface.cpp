#include "mpiio_interface.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include "companions.hpp"
#include "help.hpp"
#include "sluice/error.hpp"
#include "text/text.hpp"

namespace sluice::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* interface_names[] = {"libsluice-mpiio-openmpi.so",
                                           "libsluice-mpiio-mpich.so"};

std::vector<fs::path> interface_folders() {
  return companion_folders({"SLUICE_MPIIO_PATH", SLUICE_MPIIO_FOLDER, "mpiio", "lib"});
}

}  // namespace

std::vector<std::pair<std::string, std::string>> mpiio_environment() {
  std::string preload;
  for (const fs::path& folder : interface_folders()) {
    for (const char* name : interface_names) {
      std::error_code problem;
      if (fs::exists(folder / name, problem)) {
        preload +=
            (preload.empty() ? "" : ":") + fs::absolute(folder / name).lexically_normal().string();
      }
    }
    if (!preload.empty()) {
      break;
    }
  }
  if (preload.empty()) {
    throw Error(Code::not_found,
                "no libsluice-mpiio-*.so beside the command: set SLUICE_MPIIO_PATH to its folder");
  }
  const char* before = std::getenv("LD_PRELOAD");
  const std::string rest = before == nullptr ? "" : before;
  if (rest.find(preload) != std::string::npos) {
    return {{"LD_PRELOAD", rest}};
  }
  // A tool that counts MPI calls stays first.
  return {{"LD_PRELOAD", rest.empty() ? preload : rest + ":" + preload}};
}

int become_mpiio_program(const std::vector<std::string>& words) {
  if (words.empty()) {
    throw Error(Code::invalid_argument, "no program: sluice run --mpiio -- COMMAND [ARGUMENT...]");
  }
  for (const auto& [name, value] : mpiio_environment()) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const int problem = errno;
  show_error(fmt::format("{}: {}", words[0], std::strerror(problem)));
  return problem == ENOENT ? 127 : 126;
}

}  // namespace sluice::cli
