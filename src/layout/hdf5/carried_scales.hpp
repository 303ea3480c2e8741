// The dimension scales of what carry() takes from one HDF5 file into another.
//
// A variable that Sluice has written has scales in the root group, by the names of its dimensions.
// Where its scales in the old file lie elsewhere, it gets those instead, if the new file has them;
// its labels keep the names. netCDF's dimensions are in the root group: there it keeps its own.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "layout/hdf5/scales.hpp"

namespace sluice::layout::hdf5 {

class CarriedScales {
 public:
  /// Of open files; `is_netcdf`: of netCDF is the new one.
  CarriedScales(hid_t from, hid_t into, bool is_netcdf)
      : from_(from), into_(into), is_netcdf_(is_netcdf), old_names_(from) {}

  /// Is it, in a new file of netCDF, a dimension without coordinates that only variables of Sluice
  /// had? These have theirs. `others()`: the datasets that Sluice does not write; asked for once.
  bool is_unused(const std::string& path, const std::function<std::vector<std::string>()>& others);

  /// Reads the scales of the new file, which has all its datasets by now.
  void load() { scales_.load(into_); }
  /// Gives the dataset at `path` the scales that it has in the old file. False if the new one does
  /// not have them all.
  bool attach(const std::string& path, bool is_written);
  /// Removes dimensions of Sluice that no variable has any more; writes what has changed.
  void finish();

 private:
  const hid_t from_;
  const hid_t into_;
  const bool is_netcdf_;
  ReferencedNames old_names_;
  std::optional<std::set<std::string>> used_;  ///< scales of the old file
  Scales scales_;                              ///< of the new one
  std::set<std::string> detached_;             ///< scales that a dataset no longer has
};

}  // namespace sluice::layout::hdf5
