// Values of a variable as pictures and reports want them: a slice of few points, and statistics.
//
// Invariant: a step is read in parts of a few MiB, however large it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "commit/read/input.hpp"

namespace sluice::cli {

/// Of the finite values of one step.
struct StepStats {
  std::uint64_t finite = 0;
  std::uint64_t missing = 0;  ///< values that stand for none, and NaN
  std::uint64_t infinite = 0;
  double least = 0;
  double most = 0;
  double mean = 0;
};

/// Points of a picture: means of the finite values that fall on each, NaN where there is none.
struct Grid {
  std::uint64_t columns = 0;
  std::uint64_t rows = 0;
  std::vector<double> values;
};

/// Can its values be drawn: numbers that are not complex?
bool can_draw(const model::Definition& definition);
/// Error unsupported where they cannot.
void require_numbers(const model::Definition& definition);

StepStats stats_of(commit::Input& input, std::uint32_t variable, std::uint64_t step);

/// The part of a step with these indices of all dimensions but the last two (of one: all but the
/// last); empty: the middle of each.
model::Box slice_box(const model::Dims& shape, const std::string& indices);

/// Do the rows of a picture of the variable go upwards? Where the dimension of the rows has a
/// coordinate variable that grows with them, or decreases and is `positive` "down"; without one,
/// where a latitude that the attribute `coordinates` names grows.
bool rows_go_up(commit::Input& input, std::uint32_t variable);

/// A slice as at most so many points. Of one dimension: one row.
Grid grid_of(commit::Input& input, std::uint32_t variable, std::uint64_t step,
             const model::Box& slice, std::uint64_t most_columns, std::uint64_t most_rows);

}  // namespace sluice::cli
