// The course of a variable over the steps of a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "draw/chart.hpp"

namespace sluice::cli {

struct Series {
  std::vector<std::uint64_t> steps;  ///< those that were read
  std::vector<double> x;             ///< the times of them, where all have one; else their numbers
  std::string x_title;
  std::vector<StepStats> stats;

  double least() const;
  double most() const;
  /// The extent of the axis; times need not ascend.
  void set_times(Frame& frame) const;
  /// The band from least to most, and the mean.
  std::vector<Curve> curves() const;
};

/// The times of steps: the values of a variable `time` that the file has of its own with one value
/// a step; otherwise those that begin_step was given.
class StepTimes {
 public:
  explicit StepTimes(commit::Input& input);
  /// NaN if there is none.
  double of(std::uint64_t step);
  const std::string& unit() const noexcept { return unit_; }

 private:
  commit::Input& input_;
  std::optional<std::uint32_t> own_;
  std::string unit_;
};

/// Of at most so many steps, evenly spaced, the first and the last among them.
Series series_of(commit::Input& input, std::uint32_t variable, std::uint64_t most_steps);

/// The attribute `units`; "" where there is none.
std::string unit_of(const commit::Input& input, const std::string& variable);

}  // namespace sluice::cli
