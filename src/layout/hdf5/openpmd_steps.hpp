// Iterations of the openPMD standard in a file being planned: a group /data/N for each step, and
// the attributes that the standard requires in it (layout/openpmd).
//
// Invariant: every step has a number, which no other step has.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "layout/hdf5/planned_attributes.hpp"
#include "layout/openpmd/rules.hpp"

namespace sluice::layout::hdf5 {

class OpenpmdSteps {
 public:
  OpenpmdSteps(PlannedFile& file, const PlannedVariables& variables, PlannedAttributes& attributes)
      : file_(file), variables_(variables), attributes_(attributes) {}

  /// The attributes of a new file.
  void write_root();
  /// `numbers`: those of the steps that the file has.
  void load(std::vector<std::uint64_t> numbers) { numbers_ = std::move(numbers); }
  /// Forgets the numbers of steps from number `steps` on.
  void keep_below(std::uint64_t steps);

  /// The path of the group of a step.
  std::string group(std::uint64_t step) const { return openpmd::group_of(numbers_.at(step)); }
  /// Numbers the next step, `step`: as the caller set it, or one more than the last.
  std::uint64_t number(std::uint64_t step);
  /// Makes the group of the last step.
  void make_group(double time);
  /// Writes what follows from the objects of the last step.
  void write_attributes(const CommitRequest& request);

 private:
  PlannedFile& file_;
  const PlannedVariables& variables_;
  PlannedAttributes& attributes_;
  std::vector<std::uint64_t> numbers_;
};

}  // namespace sluice::layout::hdf5
