// The datasets of a file that is read, by variable and step, and where a step begins in its
// dataset.
//
// Invariant: of each variable at most one dataset is open, the last one that was asked for, so that
// a file with a dataset for each step does not keep all of them open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "layout/catalog.hpp"
#include "layout/hdf5/handle.hpp"
#include "layout/hdf5/open_file.hpp"
#include "layout/hdf5/structure.hpp"
#include "layout/hdf5/virtual_sources.hpp"

namespace sluice::layout::hdf5 {

class StepDatasets {
 public:
  /// All must outlive the object. `arrangements`: one for each variable.
  StepDatasets(const OpenFile& file, OtherFiles& others,
               const std::vector<StoredVariable>& variables,
               const std::vector<Arrangement>& arrangements)
      : file_(file), others_(others), variables_(variables), arrangements_(arrangements) {}

  const StoredVariable& stored(std::uint32_t variable) const { return variables_.at(variable); }
  const Arrangement& arrangement(std::uint32_t variable) const {
    return arrangements_.at(variable);
  }
  /// The dataset with a step of a variable; -1 if it does not have the step.
  hid_t find(std::uint32_t variable, std::uint64_t step);
  /// Has each step a dataset of its own?
  bool is_grouped(std::uint32_t variable) const;
  /// The shape of the dataset of a step, which has its own. Error damaged if it has another type or
  /// shape than those of the other steps: another program may have replaced it.
  model::Dims shape_of(hid_t dataset, std::uint32_t variable, std::uint64_t step) const;
  /// Dimensions of the dataset that are none of a step's: 1 where the steps are in front.
  std::size_t lead(std::uint32_t variable) const;
  /// The first element of a step along the dataset's first dimension.
  std::uint64_t first_row(std::uint32_t variable, std::uint64_t step) const;
  /// Does a dataset for several steps end before the step? netCDF programs extend only the
  /// variables that they write, and a copy may be older than the step.
  bool ends_before(hid_t dataset, std::uint32_t variable, std::uint64_t step) const;

 private:
  struct Open {
    std::uint64_t step = 0;
    Handle handle;
  };

  const OpenFile& file_;
  OtherFiles& others_;
  const std::vector<StoredVariable>& variables_;
  const std::vector<Arrangement>& arrangements_;
  std::map<std::uint32_t, Open> open_;
};

}  // namespace sluice::layout::hdf5
