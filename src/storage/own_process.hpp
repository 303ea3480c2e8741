// The process that created an object. A forked process has a copy of every object, but neither the
// threads nor a rank, and the state on disk belongs to its parent.
//
// Invariant: an object that was created by another process deletes, unlinks, writes and sends
// nothing and waits for nothing; its calls are Error wrong_state.
#pragma once

#include <memory>
#include <string>

namespace sluice::storage {

class OwnProcess {
 public:
  /// Remembers the calling process.
  OwnProcess() noexcept;

  /// Is the calling process the one that created this? Takes some nanoseconds; detects every kind
  /// of child (fork, _Fork, clone).
  bool is_here() const noexcept;
  /// Error wrong_state if it is not. `what` names the object that cannot be used.
  void require(const std::string& what) const {
    if (!is_here()) refuse(what);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const;

  int process_;
};

/// Deletes only in the process that created the pointer; the copy in a forked child is leaked,
/// because its destructors would wait for threads that do not exist there, or touch files of the
/// parent.
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
