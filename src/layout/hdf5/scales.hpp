// The dimension scales of one file: datasets that define netCDF's dimensions in HDF5.
//
// Invariants: every scale has a `_Netcdf4Dimid` of its own; those of the root group count from 0 in
// the order in which they are made, as VTK's reader takes them for positions, and those of groups
// follow from seal() on without a gap, on which nccopy crashes; every dimension of every variable
// that is no scale itself has its scale in DIMENSION_LIST, and stands in that scale's
// REFERENCE_LIST from seal() on. Lists of references are written once a commit.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "layout/hdf5/handle.hpp"
#include "layout/netcdf4/rules.hpp"

namespace sluice::layout::hdf5 {

class Scales {
 public:
  /// Clears everything and reads the scales that `file` (an open HDF5 file) has.
  void load(hid_t file);
  void clear();
  /// Is there a scale at `path`? The dimensions of variables have theirs in the root group.
  bool has(const std::string& path) const { return scales_.count(path) != 0; }
  /// The dimension of the scale at `path`; null if there is none.
  const netcdf4::Use* find(const std::string& path) const;
  /// Is there a scale without coordinates at `path`?
  bool has_plain(const std::string& path) const;
  /// Has a dataset the scale at `path` for a dimension?
  bool is_used(const std::string& path) const { return !scales_.at(path).references.empty(); }

  /// Creates the scale of a dimension without coordinates: the dataset at `path`, which has no data
  /// and takes no space.
  void make_plain(hid_t file, const std::string& path, const netcdf4::Use& use);
  /// Turns the coordinate variable at `path` into a scale.
  void make_coordinate(hid_t dataset, const std::string& path);
  /// Attaches the scales at `scales` to the dimensions of the variable `dataset` at `path`.
  void attach(hid_t file, hid_t dataset, const std::string& path,
              const std::vector<std::string>& scales);
  /// Takes from the variable `dataset` at `path` all its scales, and returns their paths.
  std::vector<std::string> detach(hid_t file, hid_t dataset, const std::string& path);
  /// Removes the scale without coordinates at `path`, so that a variable can take its name. The
  /// variables along that dimension then have no scales at all: attach them again.
  void remove(hid_t file, const std::string& path);
  /// Gives the scales that were copied without a number of netCDF's one of their own.
  void number(hid_t file);
  /// Writes the lists of references that have changed.
  void seal(hid_t file);

 private:
  struct Reference {
    hobj_ref_t dataset;
    int dimension;
  };
  struct Scale {
    int id = 0;
    netcdf4::Use use;
    bool is_plain = false;
    bool is_changed = false;
    std::vector<Reference> references;
  };
  void learn(hid_t file, const std::string& path);
  void enter(hid_t dataset, const std::string& path, const std::string& title);
  std::vector<std::string> forget(hobj_ref_t user);
  static hid_t reference_type();
  int new_id(const std::string& path);

  std::map<std::string, Scale> scales_;
  std::set<int> ids_;     ///< of the scales of the root group
  int next_in_root_ = 0;  ///< not below it
};

/// The attribute with the names of a dataset's dimensions that H5DSset_label makes and h5py reads.
inline constexpr const char* labels_name = "DIMENSION_LABELS";

/// Is it the scale of a dimension?
bool is_scale(hid_t dataset);
/// Has the dataset scales for its dimensions?
bool is_attached(hid_t dataset, const std::string& path);
/// The names of a dataset's dimensions from its labels; empty if one has none.
std::vector<std::string> dimension_labels(hid_t dataset);
/// The paths of all datasets of a file.
std::vector<std::string> dataset_paths(hid_t file);
/// The names of datasets by the references to them. libhdf5 looks through the whole file for each
/// name that it is asked for; here that is done once.
class ReferencedNames {
 public:
  /// Of an open file, in which no dataset is made meanwhile.
  explicit ReferencedNames(hid_t file) : file_(file) {}
  /// "" where there is no dataset.
  const std::string& of(hobj_ref_t reference, const std::string& what);

 private:
  void fill();

  hid_t file_;
  bool is_filled_ = false;
  std::unordered_map<hobj_ref_t, std::string> names_;
};
/// The names of a dataset's dimensions in a file with scales, whose names are `names`; empty if it
/// has none.
std::vector<std::string> dimension_names(ReferencedNames& names, hid_t dataset,
                                         const std::string& path);
/// The scales of the dimensions of these datasets of `file`, but for a dataset that is its own.
std::set<std::string> scales_of(ReferencedNames& names, hid_t file,
                                const std::vector<std::string>& datasets);
/// Of a scale with several dimensions, as netCDF makes one of a variable that has the name of its
/// first one: netCDF's numbers of them. Else empty.
std::vector<std::int32_t> dimension_numbers(hid_t dataset);
/// The paths of all scales of a file with a number of netCDF's, by it.
std::map<std::int32_t, std::string> numbered_scales(hid_t file);
/// Has the scale at `path` a number of netCDF's?
bool has_dimension_number(hid_t file, const std::string& path);
/// Without the prefix of a variable that has the name of a dimension and is not its coordinates.
std::string without_prefix(const std::string& path);
/// Is it the scale of a dimension without coordinates, which netCDF does not show as a variable?
bool is_plain_scale(hid_t dataset);
/// The dimension of the scale `dataset` at `path`; an unlimited one has no size of its own.
netcdf4::Use use_of(hid_t dataset, const std::string& path);

}  // namespace sluice::layout::hdf5
