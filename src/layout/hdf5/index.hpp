// The index of a set of parts: a small HDF5 file whose datasets are virtual, so that any program
// sees the parts as one file; and what a part says of itself. With dimension scales an index is a
// netCDF-4 file too.
//
// Invariants: an index is written whole, into an empty file, and never changed: a further step is a
// further index. It holds no elements but those of scalars (HDF5 has no virtual ones), which it
// copies. Mappings have explicit extents; what no part maps reads as the fill value. Each part
// holds the ids of its set and of itself, and the path of the index for which it was made, as
// attributes of /sluice.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "layout/hdf5/handle.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/profile.hpp"
#include "layout/part_set.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

/// Attributes of /sluice in a part.
inline constexpr const char* set_id_name = "set_id";
inline constexpr const char* part_id_name = "part_id";
inline constexpr const char* index_path_name = "index";
/// The words of PartSet, in an index.
inline constexpr const char* parts_name = "sluice/parts";

/// Everything that an index shows. Not owned.
struct Index {
  std::span<const model::Definition> definitions;  ///< one a variable of the set, in its order
  const PartSet* set = nullptr;
  std::span<const model::Attribute> attributes;
  std::span<const CommitRow> commits;
  const std::map<std::uint32_t, std::vector<std::byte>>* scalars = nullptr;  ///< of fixed scalars
  Profile profile = Profile::stacked;  ///< or netcdf4: with the scales of its dimensions
};

/// Writes the index into `file`, which must be empty. One rank. Not synced.
void write_index(storage::File& file, const Index& index);

/// The set that an open file indexes; nothing where it is an ordinary file. `largest_words` bounds
/// what a damaged file may claim.
std::optional<PartSet> read_set(hid_t file, const std::string& path, std::uint64_t largest_words);

/// The same of a file that may be anything: nothing where it is not an HDF5 file of Sluice.
std::optional<PartSet> read_set(storage::File& file);

/// What a part says of itself.
struct PartIdentity {
  std::uint64_t set_id = 0;
  std::uint64_t part_id = 0;
  std::string index_path;  ///< absolute, of the index for which it was made
  std::uint64_t commits = 0;
  std::int64_t stamp_ns = 0;  ///< of the commit that was asked for; 0 where it has fewer
};

/// Reads only the log of a part. `commit`: whose stamp is wanted. Error format where `file` is no
/// part that Sluice wrote, truncated where it is shorter than it says.
PartIdentity read_identity(storage::File& file, std::uint64_t commit);

}  // namespace sluice::layout::hdf5
