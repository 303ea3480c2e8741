// The index of a set of parts: a small HDF5 file of virtual datasets, so that any program sees the
// parts as one file. With dimension scales an index is also a netCDF-4 file.
//
// Invariants: an index is written whole, into an empty file, and never changed: a further step is a
// further index. It contains no elements except scalars (HDF5 has no virtual ones), which it
// copies. Mappings have explicit extents; what no part maps reads as the fill value.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "layout/hdf5/handle.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/profile.hpp"
#include "layout/part_set.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

/// The content of an index. Not owned.
struct Index {
  std::span<const model::Definition> definitions;  ///< one for each variable of the set, in its
                                                   ///< order
  const PartSet* set = nullptr;
  std::span<const model::Attribute> attributes;
  std::span<const CommitRow> commits;
  const std::map<std::uint32_t, std::vector<std::byte>>* scalars = nullptr;  ///< of fixed scalars
  Profile profile = Profile::stacked;  ///< or netcdf4: with the scales of its dimensions
};

/// Who makes the bytes of the mappings. They are the same.
enum class MappedBy : std::uint8_t {
  blocks,   ///< this library (virtual_mappings); libhdf5 where a name of a source has a % in it
  library,  ///< libhdf5
};

/// Writes the index into `file`, which must be empty. One rank. Not synced.
void write_index(storage::File& file, const Index& index, MappedBy by = MappedBy::blocks);

}  // namespace sluice::layout::hdf5
