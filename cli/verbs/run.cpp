// run: starts a program whose HDF5 writes through the driver, and reports if it cannot; or one
// whose MPI-IO goes through the interface.
//
// Invariants: the program has the terminal, its exit code and its signals as without this command;
// whether an HDF5 loaded the driver is observed (driver_watch.hpp).
#include "verbs/run.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "driver_watch.hpp"
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

constexpr std::array passed_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

pid_t child = 0;
bool leads_session = false;

/// What a process sends. The kernel sends the signal of a key to the group of the terminal, to
/// which the program belongs; only of a hangup it tells the leader of the session alone.
void pass_on(int signal, siginfo_t* info, void*) {
  const bool is_of_kernel = info->si_code > 0;
  if (child > 0 && (!is_of_kernel || (signal == SIGHUP && leads_session))) {
    ::kill(child, signal);
  }
}

/// Returns those that this process ignored, and the program must go on ignoring (nohup).
sigset_t catch_signals() {
  leads_session = ::getsid(0) == ::getpid();
  sigset_t ignored;
  sigemptyset(&ignored);
  if (std::signal(SIGCHLD, SIG_DFL) == SIG_IGN) {
    sigaddset(&ignored, SIGCHLD);  // the kernel would keep no exit status
  }
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int signal : passed_signals) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) {
      sigaddset(&ignored, signal);
    } else {
      ::sigaction(signal, &action, nullptr);
    }
  }
  return ignored;
}

int wait_for(pid_t process, DriverWatch& watch) {
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
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  DriverWatch watch;
  const sigset_t ignored = catch_signals();
  // Closed when the program has replaced this one. Until then the child has this command's own
  // libraries mapped, including its HDF5, which are not those of the program.
  int started[2];
  if (::pipe2(started, O_CLOEXEC) != 0) {
    throw Error(Code::internal, fmt::format("starting {}: {}", words[0], std::strerror(errno)));
  }
  child = ::fork();
  if (child == 0) {
    for (const int signal : passed_signals) {
      std::signal(signal, sigismember(&ignored, signal) == 1 ? SIG_IGN : SIG_DFL);
    }
    if (sigismember(&ignored, SIGCHLD) == 1) {
      std::signal(SIGCHLD, SIG_IGN);
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
  return wait_for(child, watch);
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
