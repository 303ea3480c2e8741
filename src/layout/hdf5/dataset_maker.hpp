// Creates the datasets of variables in a file being planned: contiguous ones without steps, and in
// chunks those with steps or filters.
//
// Invariant: all space for values is allocated by libhdf5, and none is filled: values come from the
// ranks. (A partial variable that gets no values is left without space, and so are a coordinate
// variable until its values come and chunks of rows that a step does not have.)
#pragma once

#include <cstdint>

#include "layout/hdf5/vtkhdf_steps.hpp"

namespace sluice::layout::hdf5 {

class DatasetMaker {
 public:
  DatasetMaker(PlannedFile& file, PlannedVariables& variables, const VtkhdfSteps& vtkhdf)
      : file_(file), variables_(variables), vtkhdf_(vtkhdf) {}

  /// Creates that of a variable whose tile is known; steps, where it has some, are in the first
  /// dimension. `places_now`: values come with this commit.
  void make(std::uint32_t variable, bool places_now);

 private:
  void make_fixed(std::uint32_t variable, hid_t list, bool places_now);
  void make_stepped(std::uint32_t variable, hid_t list);
  void set_filters(std::uint32_t variable, hid_t list) const;
  void create(std::uint32_t variable, hid_t space, hid_t list);

  PlannedFile& file_;
  PlannedVariables& variables_;
  const VtkhdfSteps& vtkhdf_;
};

}  // namespace sluice::layout::hdf5
