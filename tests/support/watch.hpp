// Reports what a test was doing if the process dies by a signal or takes too long.
#pragma once

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <execinfo.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace sluice::test {

inline std::array<char, 512> under_watch{};

/// Of the calling thread, to the error output.
inline void print_stack(int) {
  std::array<void*, 48> frames{};
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), frames.size()), STDERR_FILENO);
  const auto written = write(STDERR_FILENO, "--\n", 3);
  static_cast<void>(written);
}

/// Of every thread, one after the other.
inline void print_stacks() {
  std::signal(SIGUSR2, print_stack);
  DIR* tasks = opendir("/proc/self/task");
  for (const dirent* task = tasks != nullptr ? readdir(tasks) : nullptr; task != nullptr;
       task = readdir(tasks)) {
    const long thread = std::strtol(task->d_name, nullptr, 10);
    if (thread != 0) {
      syscall(SYS_tgkill, getpid(), thread, SIGUSR2);
      usleep(50'000);
    }
  }
}

inline void end_by(int signal) {
  const auto written = write(STDERR_FILENO, under_watch.data(), std::strlen(under_watch.data()));
  static_cast<void>(written);
  std::signal(SIGABRT, SIG_DFL);
  if (signal == SIGALRM) {
    print_stacks();
    std::abort();
  }
  print_stack(signal);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Prints `what`, and stacks, if the process dies from now on, and ends it after `seconds`.
inline void begin_watch(const std::string& what, unsigned seconds) {
  std::snprintf(under_watch.data(), under_watch.size(), "ended while: %s\n", what.c_str());
  std::signal(SIGALRM, end_by);
#ifndef SLUICE_ADDRESS_SANITIZER  // which prints more
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    std::signal(signal, end_by);
  }
#endif
  alarm(seconds);
}

inline void end_watch() { alarm(0); }

}  // namespace sluice::test
