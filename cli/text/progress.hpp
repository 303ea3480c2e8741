// A progress bar on stderr for operations longer than two seconds: share, rate, time left.
//
// Invariants: nothing is printed unless stderr is a terminal; redrawn at most ten times a second;
// erased when the object is destroyed.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace sluice::cli {

class Progress {
 public:
  /// `is_shown`: on one rank only.
  Progress(std::string label, bool is_shown);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::uint64_t done_bytes, std::uint64_t total_bytes);

  /// The line for a given moment, at most 79 columns.
  static std::string line(const std::string& label, std::uint64_t done_bytes,
                          std::uint64_t total_bytes, double seconds);

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  bool is_shown_;
  bool is_drawn_ = false;
  Clock::time_point began_ = Clock::now();
  Clock::time_point next_;
};

}  // namespace sluice::cli
