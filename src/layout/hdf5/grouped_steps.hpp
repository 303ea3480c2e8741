// The steps of a file being planned in which each has a group of its own, with a dataset for each
// variable that it has (profiles grouped and openpmd). Other profiles use none of it.
//
// Invariant: a variable with steps has a prototype from the commit on that creates it; the datasets
// of its steps have the type of that, and its attributes as they were when the step was made.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "layout/hdf5/openpmd_steps.hpp"

namespace sluice::layout::hdf5 {

class GroupedSteps {
 public:
  GroupedSteps(PlannedFile& file, PlannedVariables& variables, PlannedAttributes& attributes)
      : file_(file),
        variables_(variables),
        attributes_(attributes),
        openpmd_(file, variables, attributes) {}

  /// Writes what a new file has of the steps' form.
  void write_root();
  /// openPMD: `numbers` are those of the steps that the file has.
  void load(std::vector<std::uint64_t> numbers) { openpmd_.load(std::move(numbers)); }
  /// Forgets the steps from number `steps` on, which the file no longer has.
  void keep_below(std::uint64_t steps) { openpmd_.keep_below(steps); }

  /// Creates a variable: the dataset without data from which its steps have their properties.
  void make_prototype(std::uint32_t variable, const model::Dims& tile);
  /// Makes the group of a step. Its number in the log: 0 but in openPMD.
  std::uint64_t make_group(std::uint64_t step, double time);
  /// Creates the dataset of a variable in the group of a step.
  Placement place(const Touched& touched, std::uint64_t step);
  /// Writes what follows from the objects of the last step.
  void finish(const CommitRequest& request);
  /// Removes the groups of the steps from number `first` on, of `steps` that there are.
  void drop(std::uint64_t first, std::uint64_t steps);

 private:
  std::string group(std::uint64_t step) const;

  PlannedFile& file_;
  PlannedVariables& variables_;
  PlannedAttributes& attributes_;
  OpenpmdSteps openpmd_;
};

}  // namespace sluice::layout::hdf5
