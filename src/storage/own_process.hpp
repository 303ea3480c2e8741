// The process that made an object. A process that is forked off has a copy of everything, but
// neither the threads nor a place among the ranks, and what is on the disk is its parent's.
//
// Invariant: an object of which OwnProcess says that it was made elsewhere deletes, unlinks, writes
// and sends nothing and waits for nobody; its calls are Error wrong_state.
#pragma once

#include <memory>
#include <string>

namespace sluice::storage {

class OwnProcess {
 public:
  /// Remembers the calling process.
  OwnProcess() noexcept;

  /// Is the calling process the one that made this? Some nanoseconds, whatever made the child
  /// (fork, _Fork, clone).
  bool is_here() const noexcept;
  /// Error wrong_state where it is not. `what` names what cannot be used.
  void require(const std::string& what) const {
    if (!is_here()) refuse(what);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const;

  int process_;
};

/// Deletes in the process that made the pointer; a copy in a forked child is left as it is, since
/// its destructors would wait for threads that are not there, or touch what is not the child's.
class DeleteAtHome {
 public:
  template <class T>
  void operator()(T* object) const {
    if (process_.is_here()) delete object;
  }

 private:
  OwnProcess process_;
};
template <class T>
using HomePtr = std::unique_ptr<T, DeleteAtHome>;

}  // namespace sluice::storage
