// The group VTKHDF of a file being planned: arrays whose steps follow one another in one dataset,
// and the numbers by which VTK finds them there (layout/vtkhdf/steps). All functions do nothing in
// other profiles.
//
// Invariant: an array's steps have the same slot for as long as the file is there, so that where a
// step begins does not depend on the others.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "layout/hdf5/planned_attributes.hpp"
#include "layout/vtkhdf/steps.hpp"

namespace sluice::layout::hdf5 {

class VtkhdfSteps {
 public:
  VtkhdfSteps(PlannedFile& file, const PlannedVariables& variables,
              const PlannedAttributes& attributes)
      : file_(file), variables_(variables), attributes_(attributes) {}

  /// Rows between the steps of a variable whose tile is known; 0: its steps are stacked.
  std::uint64_t slot(std::uint32_t variable) const;
  /// Describes a commit that is no step: a file may have no steps at all.
  void describe_static(const CommitRequest& request, std::uint64_t steps);
  void append(const CommitRequest& request, std::uint64_t step);
  void drop(std::uint64_t steps);

 private:
  vtkhdf::Kind kind() const;
  std::vector<vtkhdf::Array> arrays(const CommitRequest& request);
  void write_numbers(const vtkhdf::Numbers& numbers);
  /// What a program need not say: the version, and of an image where it is.
  void write_defaults(vtkhdf::Kind kind, bool has_steps);
  void write_step_count(std::uint64_t steps);

  PlannedFile& file_;
  const PlannedVariables& variables_;
  const PlannedAttributes& attributes_;
  /// Of fixed arrays, by variable: the rows of each part, if they were told.
  std::map<std::uint32_t, std::vector<std::uint64_t>> parts_;
};

}  // namespace sluice::layout::hdf5
