// The command as two processes: a child, which reads files and does the work, and its parent, which
// waits for it.
//
// libhdf5 may crash on a damaged file, or loop for ever, and nothing inside the process can stop
// that. Invariants: the child has the terminal and does all of the work; the parent opens no file.
// It passes signals on to the child and ends like the child: with its exit code, or by the signal
// that a user sent. If the child crashes, spends too long in one call of libhdf5 or takes nearly
// all memory, the parent ends it and prints one line on stderr that names the file, and no core
// file is left. SLUICE_GUARD=off: one process, for debuggers. SLUICE_GUARD=30: limit in seconds of
// CPU time for one call (default 60; 0: no limit). SLUICE_GUARD_BYTES=1000000000: memory limit
// (default: seven eighths of the machine's, or of the control group's).
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>

namespace sluice::cli {

/// Runs `work` in a child and returns the exit code of the command. To be called before the program
/// has threads, files or MPI.
int run_guarded(const std::function<int()>& work);

/// While this exists, what is at `path` on this rank is left to the parent, which removes it when
/// this process ends in any way. If a launcher kills the parent too, a third process removes it.
/// What is told last must end first. An empty path: nothing. Without a parent (SLUICE_GUARD=off)
/// nothing happens.
class LeftToParent {
 public:
  enum class What : char {
    all = 'a',  ///< a file or a folder with all that is in it, and a commit's files beside it
    empty_folder = 'e',  ///< a folder, if nothing is in it
  };
  explicit LeftToParent(const std::string& path, What what = What::all);
  ~LeftToParent();
  LeftToParent(const LeftToParent&) = delete;
  LeftToParent& operator=(const LeftToParent&) = delete;

 private:
  std::size_t begin_ = std::numeric_limits<std::size_t>::max();  ///< among the paths; max: none
};

}  // namespace sluice::cli
