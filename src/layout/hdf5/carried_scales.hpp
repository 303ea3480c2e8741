// The dimension scales of what carry() takes from one HDF5 file into another.
//
// A variable that Sluice has written has scales in the root group, by the names of its dimensions.
// Where its scales in the old file lie elsewhere, it gets those instead, if the new file has them;
// its labels keep the names. netCDF's dimensions are in the root group: there it keeps its own.
// Coordinates that Sluice does not read (text of any length) take the place of the scale without
// coordinates that it has made for their dimension.
#pragma once

#include <functional>
#include <map>
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

  /// Is its name in the new file that of a dimension's scale without coordinates, whose place what
  /// has it in the old file cannot take?
  bool is_displaced(const std::string& path) const;
  /// If the old file has the coordinates of a dimension at `path`, and the new one its scale
  /// without coordinates, removes that. False if not.
  bool make_room(const std::string& path);
  /// Reads the scales of the new file, which has all its datasets by now. Those that took the place
  /// of others become the scales of their variables.
  void load();
  /// Gives the dataset at `path` the scales that it has in the old file. False if the new one does
  /// not have them all.
  bool attach(const std::string& path, bool is_written);
  /// Removes dimensions of Sluice that no variable has any more; writes what has changed.
  void finish();

 private:
  void note_attached();
  void lengthen(hid_t dataset, const std::string& path, const model::Dims& least) const;
  model::Dims lengths_of(const std::vector<std::string>& names) const;

  const hid_t from_;
  const hid_t into_;
  const bool is_netcdf_;
  ReferencedNames old_names_;
  std::optional<std::set<std::string>> used_;  ///< scales of the old file
  Scales scales_;                              ///< of the new one
  std::set<std::string> detached_;             ///< scales that a dataset no longer has
  std::vector<netcdf4::Use> replaced_;         ///< scales that were removed, by path
  /// Names of dimensions of the new file's datasets, before the first of these was removed.
  std::map<std::string, std::vector<std::string>> attached_;
};

}  // namespace sluice::layout::hdf5
