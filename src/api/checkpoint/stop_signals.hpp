// SIGTERM and SIGUSR1 as a flag of the process.
//
// Invariants: the handler writes one atomic number and nothing else; a signal for which the program
// has a handler of its own, or which it ignores, is left alone; when the last StopSignals is gone,
// the process is as before. In a forked child, which polls nothing, the signals do what they did
// before: else nobody could terminate it.
#pragma once

#include <cstdint>

#include "storage/own_process.hpp"

namespace sluice::detail {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Has one come since this object was made?
  bool came() const noexcept;

 private:
  const storage::OwnProcess process_;
  std::uint32_t before_;
};

}  // namespace sluice::detail
