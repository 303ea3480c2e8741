// run: starts a program whose HDF5 writes through the driver, and reports if it cannot; or one
// whose MPI-IO goes through the interface.
//
// Invariants: the program has the terminal, its exit code and its signals as without this command;
// whether its HDF5 loaded the driver is observed from outside, in its list of mapped files.
#include "verbs/run.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "hdf5_driver.hpp"
#include "help.hpp"
#include "mpiio_interface.hpp"
#include "session.hpp"
#include "sluice/error.hpp"
#include "text/text.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

constexpr std::string_view mpiio_option = "--mpiio";

pid_t child = 0;

void pass_on(int signal) {
  if (child > 0) {
    ::kill(child, signal);
  }
}

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

/// Observes the program while it runs. Reports once if it is not protected.
class DriverWatch {
 public:
  void look(pid_t process) {
    if (is_settled_) {
      return;
    }
    const Mapped mapped = mapped_of(process);
    if (mapped.driver) {
      is_settled_ = true;
    } else if (!mapped.hdf5.empty()) {
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
  void end() const {
    if (!is_settled_) {
      show_error(
          "the driver was not seen in the program: it ended too soon, used no HDF5, or one that "
          "is linked into it and older than 1.14; its files may not be crash-safe");
    }
  }

 private:
  bool is_settled_ = false;
};

int wait_for(pid_t process) {
  DriverWatch watch;
  int status = 0;
  auto pause = std::chrono::milliseconds(5);
  while (true) {
    // Before it is reaped: the list of a process that has ended is empty.
    watch.look(process);
    const pid_t ended = ::waitpid(process, &status, WNOHANG);
    if (ended == process) {
      break;
    }
    if (ended < 0 && errno != EINTR) {
      throw Error(Code::internal, fmt::format("waiting for the program: {}", std::strerror(errno)));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause + pause / 8, std::chrono::milliseconds(250));
  }
  watch.end();
  if (WIFSIGNALED(status)) {
    std::signal(WTERMSIG(status), SIG_DFL);
    ::raise(WTERMSIG(status));
  }
  return WEXITSTATUS(status);
}

void wait_until_closed(int pipe) {
  char byte = 0;
  while (::read(pipe, &byte, 1) < 0 && errno == EINTR) {
  }
}

int start(const std::vector<std::string>& words) {
  for (const auto& [name, value] : driver_environment()) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
    std::signal(signal, pass_on);
  }
  // Closed when the program has replaced this one. Until then the child has this command's own
  // libraries mapped, including its HDF5, which are not those of the program.
  int started[2];
  if (::pipe2(started, O_CLOEXEC) != 0) {
    throw Error(Code::internal, fmt::format("starting {}: {}", words[0], std::strerror(errno)));
  }
  child = ::fork();
  if (child == 0) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
      std::signal(signal, SIG_DFL);
    }
    ::execvp(arguments[0], arguments.data());
    const int problem = errno;
    show_error(fmt::format("{}: {}", words[0], std::strerror(problem)));
    ::_exit(problem == ENOENT ? 127 : 126);
  }
  const int problem = errno;
  ::close(started[1]);
  if (child > 0) {
    wait_until_closed(started[0]);
  }
  ::close(started[0]);
  if (child < 0) {
    throw Error(Code::internal, fmt::format("starting {}: {}", words[0], std::strerror(problem)));
  }
  return wait_for(child);
}

}  // namespace

std::vector<std::string> program_words(int argc, char** argv) {
  if (argc < 3 || std::string_view(argv[1]) != "run") {
    return {};
  }
  const std::string_view first = argv[2];
  if (first == mpiio_option) {
    const int program = argc > 3 && std::string_view(argv[3]) == "--" ? 4 : 3;
    std::vector<std::string> words{argv[2]};
    words.insert(words.end(), argv + program, argv + argc);
    return words;
  }
  if (first == "--") {
    return {argv + 3, argv + argc};
  }
  return first[0] == '-' ? std::vector<std::string>{}
                         : std::vector<std::string>{argv + 2, argv + argc};
}

int run_program(const std::vector<std::string>& words) {
  try {
    if (words.front() == mpiio_option) {
      return become_mpiio_program({words.begin() + 1, words.end()});
    }
    return start(words);
  } catch (const std::exception& e) {
    show_error(message_of(e));
    return exit_code(e);
  }
}

void add_run(CLI::App& app, Run& run) {
  CLI::App* verb =
      add_verb(app, "run", "run an unchanged HDF5 or MPI-IO program",
               "Runs a program whose HDF5 (1.14 or later, as in the wheels of h5py, netCDF4 and\n"
               "PyTables) writes through Sluice's driver: each flush is a durable, atomic\n"
               "commit, and after a crash the file is that of the last commit. Reports a\n"
               "program whose HDF5 cannot load the driver.\n"
               "With --mpiio as the first option: MPI-IO of the program and of its libraries\n"
               "(parallel HDF5, PnetCDF) goes through Sluice instead.\n"
               "Exit code: that of the program.\n",
               R"help(
Settings: HDF5_DRIVER_CONFIG="durability=close budget_bytes=256MiB log=on"

Examples:
  sluice run -- python script.py
  sluice run -- ./simulation input.txt
  sluice run --mpiio -- mpirun -n 64 ./simulation input.txt)help");
  // With a program this is never reached: main() starts it before this process becomes a rank or a
  // guard.
  verb->callback([&run] {
    run = [](const Context&) -> int {
      throw Error(Code::invalid_argument, "no program: sluice run -- COMMAND [ARGUMENT...]");
    };
  });
}

}  // namespace sluice::cli
