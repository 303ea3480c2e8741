// A process without /proc, as in a bare container.
#pragma once

#include <functional>
#include <optional>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::storage {

/// What `work` answers there, in a child; empty where no mount can be made.
inline std::optional<bool> answer_without_proc(const std::function<bool()>& work) {
  constexpr int no_mount = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", "/proc", "tmpfs", 0, nullptr) != 0) {
      ::_exit(no_mount);
    }
    ::_exit(work() ? 0 : 1);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
    return false;
  }
  return WEXITSTATUS(status) == no_mount ? std::nullopt : std::optional(WEXITSTATUS(status) == 0);
}

}  // namespace sluice::storage
