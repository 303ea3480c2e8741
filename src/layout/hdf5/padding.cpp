#include "layout/hdf5/padding.hpp"

#include <algorithm>
#include <utility>

#include "layout/hdf5/scales.hpp"

namespace sluice::layout::hdf5 {

/// Programs of HDF5 attach scales too, and do not pad.
bool Padding::is_of_netcdf(const std::string& scale) const {
  return file_.has_netcdf_provenance || has_dimension_number(file_.hdf5, scale);
}

void Padding::note(std::size_t variable, const FoundArray& found) {
  for (Along& along : note_lengths(found.dataset, found.name, found.extents)) {
    uses_.push_back({variable, along.dimension, std::move(along.scale)});
  }
}

/// The unlimited dimensions of the dataset.
std::vector<Padding::Along> Padding::note_lengths(hid_t dataset, const std::string& name,
                                                  const Extents& extents) {
  const model::Dims& limits = extents.limits;
  const bool is_resizable = std::find(limits.begin(), limits.end(), H5S_UNLIMITED) != limits.end();
  if (file_.log.is_there || !is_resizable) {
    return {};
  }
  const std::vector<std::string> scales = dimensions_.scales_of(dataset, name, limits.rank());
  if (scales.size() != static_cast<std::size_t>(limits.rank())) {
    return {};
  }
  std::vector<Along> unlimited;
  for (int d = 0; d < limits.rank(); ++d) {
    const std::string& scale = scales[static_cast<std::size_t>(d)];
    if (limits[d] == H5S_UNLIMITED && !scale.empty() && is_of_netcdf(scale)) {
      std::uint64_t& length = lengths_[scale];
      length = std::max(length, extents.dims[d]);
      unlimited.push_back({d, scale});
    }
  }
  return unlimited;
}

void Padding::apply(std::vector<StoredVariable>& variables,
                    std::vector<Arrangement>& arrangements) const {
  for (const Use& use : uses_) {
    StoredVariable& variable = variables[use.variable];
    model::Dims& shape = variable.definition.shape;
    if (use.dimension >= shape.rank()) {
      continue;  // the characters of its text
    }
    const std::uint64_t held = shape[use.dimension];
    const std::uint64_t length = lengths_.at(use.scale);
    if (held == length) {
      continue;
    }
    model::Dims& of_dataset = arrangements[use.variable].held;
    of_dataset = of_dataset.empty() ? shape : of_dataset;
    shape[use.dimension] = length;
    const bool has_tiles = variable.placeable || !variable.filters.empty();
    if (!has_tiles || held % variable.tile[use.dimension] != 0 || !variable.definition.has_fill()) {
      variable.placeable = false;
      variable.filters.clear();
    }
  }
}

}  // namespace sluice::layout::hdf5
