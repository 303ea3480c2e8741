// The length that netCDF gives a variable along an unlimited dimension: that of the longest dataset
// along it. Its programs make only the dataset longer that they write.
//
// Invariants: only files of other programs are padded, and of these only netCDF's; Sluice's own
// have steps (hdf5/step_datasets). Where a chunk has elements inside and outside of the dataset,
// the variable is neither placeable nor has it filters: what the file holds of such a chunk need
// not be the fill value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "layout/hdf5/array_reader.hpp"

namespace sluice::layout::hdf5 {

class Padding {
 public:
  /// Both must outlive the object.
  Padding(const OpenFile& file, DimensionNames& dimensions)
      : file_(file), dimensions_(dimensions) {}

  /// Notes the unlimited dimensions of the dataset of a variable.
  void note(std::size_t variable, const FoundArray& found);
  /// Notes how long they are in a dataset that is no variable here.
  void note_unread(hid_t dataset, const std::string& name, const Extents& extents) {
    note_lengths(dataset, name, extents);
  }
  /// Gives the variables that were noted the lengths of their dimensions.
  void apply(std::vector<StoredVariable>& variables, std::vector<Arrangement>& arrangements) const;

 private:
  struct Use {
    std::size_t variable;
    int dimension;
    std::string scale;
  };
  struct Along {
    int dimension;
    std::string scale;
  };
  bool is_of_netcdf(const std::string& scale) const;
  std::vector<Along> note_lengths(hid_t dataset, const std::string& name, const Extents& extents);

  const OpenFile& file_;
  DimensionNames& dimensions_;
  std::vector<Use> uses_;
  std::map<std::string, std::uint64_t> lengths_;  ///< by the path of the dimension's scale
};

}  // namespace sluice::layout::hdf5
