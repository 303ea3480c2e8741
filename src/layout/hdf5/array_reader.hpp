// What one dataset is as a variable: its type, the shape of a step, tiles, filters, fill value.
//
// Invariants: nothing is read of a dataset but its description. Where a step of another program's
// copy is not made of whole tiles, the variable is neither placeable nor has it filters: it is read
// through libhdf5.
#pragma once

#include <string>

#include "layout/catalog.hpp"
#include "layout/hdf5/dataset_facts.hpp"
#include "layout/hdf5/dimension_names.hpp"
#include "layout/hdf5/open_file.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

/// How a variable lies in its dataset, beside what StoredVariable says.
struct Arrangement {
  /// netCDF text: characters, with their number as the last dimension.
  bool is_in_characters = false;
  /// Rows between steps that follow one another in the dataset; 0: they are stacked.
  std::uint64_t slot = 0;
  /// In the dataset, where it has the steps in front. Another program may have added some.
  std::uint64_t steps = 0;
  /// Does the set, if any of it is still read, name it?
  bool is_mapped = false;
  /// The shape of the dataset, where the variable's is longer: it is padded to the lengths of its
  /// dimensions. Else empty.
  model::Dims held = {};
};

struct FoundArray {
  hid_t dataset;     ///< open
  std::string path;  ///< another one than `name`: a prototype
  std::string name;
  StoredType stored;
  Extents extents;
  bool is_stepped_in_set = false;
};

struct ReadArray {
  StoredVariable variable;
  Arrangement arrangement;
  std::uint64_t steps = 0;  ///< that the file has because of it; 0: it says nothing of that
};

/// Error format, version, damaged or unsupported if it cannot be read here.
ReadArray read_array(const OpenFile& file, DimensionNames& dimensions, const FoundArray& found);

}  // namespace sluice::layout::hdf5
