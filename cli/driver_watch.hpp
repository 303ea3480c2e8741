// Whether the driver is loaded in what `sluice run` started.
//
// Invariants: no warning without a reason. The driver says itself that it was loaded, in any
// process that has the environment of the program (plugin/run_report.hpp); of an HDF5 that is too
// old the mapped files of the program tell. What starts programs on other nodes is not judged.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "scratch_folder.hpp"

namespace sluice::cli {

class DriverWatch {
 public:
  /// Names a file for the driver's report in this process's environment, which the program
  /// inherits.
  DriverWatch();
  ~DriverWatch() = default;
  DriverWatch(const DriverWatch&) = delete;
  DriverWatch& operator=(const DriverWatch&) = delete;

  /// While the program runs, and before it is reaped: what it has mapped is then gone. Reports once
  /// if it is not protected.
  void look(pid_t process);
  /// After its end. Removes the file.
  void end();

 private:
  bool is_reported() const;

  std::optional<ScratchFolder> folder_;  ///< of the file, if that is not another run's
  std::string file_;                     ///< empty: there is none
  bool is_settled_ = false;
};

}  // namespace sluice::cli
