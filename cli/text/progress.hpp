// A progress bar on stderr for operations longer than two seconds: share, rate or count, time left.
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
  enum class Unit { bytes, count };  ///< shown as a rate; as "3 of 18"

  /// `is_shown`: on one rank only.
  Progress(const std::string& label, bool is_shown, Unit unit = Unit::bytes);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::uint64_t done, std::uint64_t total);

  /// The line for a given moment, at most 79 columns.
  static std::string line(const std::string& label, std::uint64_t done, std::uint64_t total,
                          double seconds, Unit unit = Unit::bytes);

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  bool is_shown_;
  Unit unit_;
  bool is_drawn_ = false;
  Clock::time_point began_ = Clock::now();
  Clock::time_point next_;
};

}  // namespace sluice::cli
