// Work to be done when the program calls MPI_Finalize, while MPI still works.
//
// Invariants: MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF, on every rank;
// Sluice has an attribute there, whose callback runs what is registered, in the order of
// registration. Objects over communicators are created by all of their ranks in the same order, and
// so they are processed in the same order.
#pragma once

#include <functional>

namespace sluice::exec {

class AtFinalize {
 public:
  /// `work`, which must not throw, is called once when MPI_Finalize begins, unless this object has
  /// been destroyed. It may communicate. It is never called if MPI is not running.
  explicit AtFinalize(std::function<void()> work);
  ~AtFinalize();
  AtFinalize(const AtFinalize&) = delete;
  AtFinalize& operator=(const AtFinalize&) = delete;

 private:
  std::function<void()> work_;
};

}  // namespace sluice::exec
