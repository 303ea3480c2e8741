// The names of the dimensions of datasets: from labels, from dimension scales, or by netCDF's
// numbers of these.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "layout/hdf5/open_file.hpp"
#include "layout/hdf5/scales.hpp"

namespace sluice::layout::hdf5 {

class DimensionNames {
 public:
  /// `file` must outlive the object.
  explicit DimensionNames(const OpenFile& file) : file_(file), scales_(file.hdf5) {}

  /// Names without that of the steps; none if the file does not have all of them. `rank`: of a step
  /// of the variable `name`. `has_characters`: the dataset has a further last dimension, that of
  /// the characters of its text.
  std::vector<std::string> of(hid_t dataset, const std::string& name, int rank,
                              bool has_characters);

  /// The paths of the scales of a dataset's dimensions; none where one has no scale.
  std::vector<std::string> scales_of(hid_t dataset, const std::string& name, int rank);

 private:
  std::vector<std::string> by_number(hid_t dataset);

  const OpenFile& file_;
  ReferencedNames scales_;
  /// The scales of netCDF by their number, once they are asked for.
  std::optional<std::map<std::int32_t, std::string>> numbered_scales_;
};

}  // namespace sluice::layout::hdf5
