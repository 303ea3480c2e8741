// What has to be done when the program calls MPI_Finalize, while MPI still works.
//
// Invariants: MPI begins MPI_Finalize by deleting the attributes of MPI_COMM_SELF, on every rank;
// an attribute of ours is one of them, so that what is registered runs there, in the order in which
// it was registered. Objects over communicators are made by all of their ranks in one order, and so
// they are found in one.
#pragma once

#include <functional>

namespace sluice::exec {

class AtFinalize {
 public:
  /// `work`, which must not throw, is called once when MPI_Finalize begins, unless this object is
  /// gone by then. It may communicate. Where MPI is not running it is never called.
  explicit AtFinalize(std::function<void()> work);
  ~AtFinalize();
  AtFinalize(const AtFinalize&) = delete;
  AtFinalize& operator=(const AtFinalize&) = delete;

 private:
  std::function<void()> work_;
};

}  // namespace sluice::exec
