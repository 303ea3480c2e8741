#include "guard.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "layout/hdf5/library.hpp"
#include "session.hpp"
#include "storage/endings.hpp"
#include "text/text.hpp"
#include "verb.hpp"

namespace sluice::cli {

namespace {

using layout::hdf5::CallWatch;

/// Signals by which a user or a launcher ends, or suspends, the command.
constexpr std::array passed_on{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
/// A child that was ended by one of these has not crashed.
constexpr std::array asked_for{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2};
constexpr double default_limit_s = 60;
constexpr long look_every_ms = 100;
constexpr std::size_t most_paths_bytes = 16 << 20;  // those that do not fit stay
constexpr int most_removals = 50;
constexpr useconds_t removal_pause_us = 20000;

/// What the child would leave behind: a character for its kind, a path and a 0 for each.
struct Leftovers {
  std::atomic<std::size_t> used{0};
  std::array<char, most_paths_bytes> text;  // memory is taken where it is written first

  /// After the end of the child.
  void remove() const {
    std::vector<std::string> all;
    for (std::size_t at = 0; at < used.load(); at += all.back().size() + 1) {
      all.emplace_back(text.data() + at);
    }
    // The files of a folder were told after it.
    std::for_each(all.rbegin(), all.rend(), [](const std::string& one) {
      const auto what = static_cast<LeftToParent::What>(one[0]);
      remove_one(one.substr(1), what == LeftToParent::What::empty_folder);
    });
  }

 private:
  /// Other ranks may end a little later, and write into it until then.
  static void remove_one(const std::string& path, bool is_empty) {
    for (int i = 0; i < most_removals; ++i) {
      std::error_code error;
      if (is_empty) {
        std::filesystem::remove(path, error);
      } else {
        std::filesystem::remove_all(path, error);
      }
      if (!error) {
        break;
      }
      ::usleep(removal_pause_us);
    }
    if (!is_empty) {
      std::error_code error;
      for (const std::string& beside : {path + storage::new_ending, path + storage::begun_ending,
                                        storage::journal_path(path), storage::lease_path(path)}) {
        std::filesystem::remove_all(beside, error);
      }
    }
  }
};

/// What the two processes share.
struct Shared {
  CallWatch calls;
  Leftovers leftovers;
};

Leftovers* own_leftovers = nullptr;  ///< of the child

template <class List>
bool is_one_of(int number, const List& list) {
  return std::find(list.begin(), list.end(), number) != list.end();
}

struct Settings {
  bool is_on = true;
  double limit_s = default_limit_s;  ///< 0: none
};

Settings settings_of(const char* text) {
  Settings settings;
  if (text != nullptr && std::strcmp(text, "off") == 0) {
    settings.is_on = false;
  } else if (text != nullptr) {
    char* end = nullptr;
    const double seconds = std::strtod(text, &end);
    if (end != text && *end == '\0' && std::isfinite(seconds) && seconds >= 0) {
      settings.limit_s = seconds;
    }
  }
  return settings;
}

/// The memory limit of the child: that of `text`, or nearly all memory, so that neither the machine
/// suffers nor another process is killed.
std::uint64_t memory_limit(const char* text) {
  char* end = nullptr;
  if (const unsigned long long told = text == nullptr ? 0 : std::strtoull(text, &end, 10);
      told != 0 && *end == '\0') {
    return told;
  }
  std::uint64_t bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::ifstream group("/sys/fs/cgroup/memory.max");
  std::uint64_t most = 0;
  if (group >> most) {  // "max" is not a number
    bytes = std::min(bytes, most);
  }
  return bytes / 8 * 7;
}

/// Bytes of private memory of a process; 0 if unknown.
std::uint64_t resident_bytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  std::uint64_t shared = 0;
  file >> all >> resident >> shared;
  return (resident - std::min(resident, shared)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

double cpu_seconds(pid_t process) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) {
    return 0;
  }
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

/// The parent's side.
class Guard {
 public:
  /// `alive`: a pipe that ends with the child.
  Guard(pid_t child, const Shared& shared, int alive, double limit_s)
      : child_(child),
        alive_(alive),
        calls_(shared.calls),
        leftovers_(shared.leftovers),
        limit_s_(limit_s),
        most_bytes_(memory_limit(std::getenv("SLUICE_GUARD_BYTES"))) {}

  /// Waits until the child has ended. `signals` are blocked.
  int wait(const sigset_t& signals) {
    const timespec period{0, look_every_ms * 1000000};
    while (true) {
      int status = 0;
      const pid_t ended = waitpid(child_, &status, WNOHANG);
      if (ended == child_) {
        return end(status);
      }
      if (ended < 0 && errno != EINTR) {
        fmt::print(stderr, "sluice: waiting for the command's own process: {}\n",
                   std::strerror(errno));
        return bad_input;
      }
      start_cleaner();
      const int number = sigtimedwait(&signals, nullptr, &period);
      if (number > 0 && number != SIGCHLD) {
        kill(child_, number);
      } else if (number < 0) {
        look();
      }
    }
  }

 private:
  /// Once there is something to remove. Launchers end all processes of a rank at once, so that the
  /// parent has no time for it: this one is in a session of its own, with the signals blocked.
  /// Without a launcher a parent that was killed leaves it: the next run, which may have begun,
  /// must not lose its own.
  void start_cleaner() {
    if (cleaner_ != 0 || leftovers_.used.load() == 0 || !has_launcher()) {
      return;
    }
    cleaner_ = fork();
    if (cleaner_ != 0) {
      return;  // if it failed, the parent removes it alone
    }
    setsid();
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      close(stream);
    }
    char nothing = 0;
    while (read(alive_, &nothing, 1) < 0 && errno == EINTR) {
    }
    leftovers_.remove();
    std::_Exit(0);
  }

  void look() {
    const std::uint64_t call = calls_.count.load();
    if (call != call_ || calls_.inside.load() == nullptr) {
      call_ = call;
      began_s_ = cpu_seconds(child_);
    } else if (limit_s_ > 0 && cpu_seconds(child_) - began_s_ > limit_s_) {
      stop(fmt::format("libhdf5 did not finish within {:g} s", limit_s_));
    }
    if (const std::uint64_t bytes = resident_bytes(child_); bytes > most_bytes_) {
      stop(fmt::format("reading it took more than {} of memory", bytes_text(most_bytes_)));
    }
  }

  void stop(const std::string& why) {
    if (why_.empty()) {
      why_ = why;
      kill(child_, SIGKILL);
    }
  }

  int end(int status) {
    if (cleaner_ > 0) {
      waitpid(cleaner_, nullptr, 0);
    }
    leftovers_.remove();
    if (WIFEXITED(status)) {
      return WEXITSTATUS(status);
    }
    const int number = WTERMSIG(status);
    if (why_.empty() && is_one_of(number, asked_for)) {
      end_by(number);
    }
    const char* call = calls_.inside.load();
    if (why_.empty()) {
      const char* name = sigabbrev_np(number);
      const std::string by = name == nullptr ? std::to_string(number) : "SIG" + std::string(name);
      why_ = number == SIGKILL ? "killed (" + by + "): out of memory?"
             : call != nullptr ? "libhdf5 crashed (" + by + ")"
                               : "crashed (" + by + ")";
    }
    const std::string file = calls_.file_name();
    fmt::print(stderr, "sluice: {}{}{}{}\n", file.empty() ? "" : printable(file) + ": ", why_,
               call == nullptr ? "" : fmt::format(" in {}", call),
               call == nullptr ? "" : ": the file is damaged or malicious");
    return bad_input;
  }

  /// The status that the shell expects of a command that was interrupted.
  [[noreturn]] static void end_by(int number) {
    std::signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    std::raise(number);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    std::_Exit(128 + number);
  }

  pid_t child_;
  pid_t cleaner_ = 0;
  int alive_;
  const CallWatch& calls_;
  const Leftovers& leftovers_;
  double limit_s_;
  std::uint64_t most_bytes_;
  std::uint64_t call_ = 0;
  double began_s_ = 0;  ///< of CPU time, of the current call
  std::string why_;     ///< the child was ended
};

int work_as_child(const std::function<int()>& work, pid_t parent, const sigset_t& mask) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) {
    return bad_input;  // it ended before
  }
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  setenv("OMPI_MCA_opal_signal", "", 0);  // otherwise Open MPI prints a stack trace
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  return work();
}

}  // namespace

int run_guarded(const std::function<int()>& work) {
  const Settings settings = settings_of(std::getenv("SLUICE_GUARD"));
  void* memory = settings.is_on ? mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                : MAP_FAILED;
  if (memory == MAP_FAILED) {
    return work();
  }
  auto* shared = new (memory) Shared;
  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  for (const int number : passed_on) {
    sigaddset(&signals, number);
  }
  sigprocmask(SIG_BLOCK, &signals, &before);
  std::array<int, 2> alive{-1, -1};
  if (pipe2(alive.data(), O_CLOEXEC) != 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return work();
  }
  // Where whoever started this command ignores it, the kernel keeps no exit status.
  std::signal(SIGCHLD, SIG_DFL);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return work();
  }
  if (child == 0) {
    close(alive[0]);
    layout::hdf5::watch_calls(shared->calls);
    own_leftovers = &shared->leftovers;
    return work_as_child(work, parent, before);
  }
  close(alive[1]);
  return Guard(child, *shared, alive[0], settings.limit_s).wait(signals);
}

LeftToParent::LeftToParent(const std::string& path, What what) {
  if (own_leftovers == nullptr || path.empty()) {
    return;
  }
  begin_ = own_leftovers->used.load();
  auto& text = own_leftovers->text;
  if (begin_ + path.size() + 2 > text.size()) {
    return;
  }
  text[begin_] = static_cast<char>(what);
  text[begin_ + 1 + path.copy(text.data() + begin_ + 1, path.size())] = '\0';
  own_leftovers->used = begin_ + path.size() + 2;
  if (begin_ == 0) {
    kill(getppid(), SIGCHLD);  // it looks at once
  }
}

LeftToParent::~LeftToParent() {
  if (own_leftovers != nullptr) {
    own_leftovers->used = std::min(own_leftovers->used.load(), begin_);
  }
}

}  // namespace sluice::cli
