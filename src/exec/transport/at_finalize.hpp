// Work to be done when the program calls MPI_Finalize, while MPI still works.
//
// Invariants: MPI_Finalize begins by deleting the attributes of MPI_COMM_SELF, on every rank;
// Sluice has an attribute there, whose callback runs what is registered, in the order of the names
// of the files, which are the same on every rank, and of registration where the names are equal.
// Where threads open files at the same time, the order of registration differs between ranks.
#pragma once

#include <functional>
#include <string>

namespace sluice::exec {

class AtFinalize {
 public:
  /// For the other ranks to come to the work, if that is collective: one that does not have the
  /// file any more never comes.
  static constexpr double longest_wait_s = 30;

  /// For the file `path`. `work`, which must not throw, is called once when MPI_Finalize begins,
  /// unless this object has been destroyed. It may communicate. It is never called if MPI is not
  /// running.
  AtFinalize(std::string path, std::function<void()> work);
  ~AtFinalize();
  AtFinalize(const AtFinalize&) = delete;
  AtFinalize& operator=(const AtFinalize&) = delete;

 private:
  friend struct FinalizeList;

  const std::string path_;
  const std::function<void()> work_;
};

}  // namespace sluice::exec
