// What connects an index and its parts: the set that an index names, and the identity of a part.
//
// Invariant: each part has the ids of its set and of itself, and the path of the index for which it
// was made, as attributes of /sluice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "layout/hdf5/library.hpp"
#include "layout/part_set.hpp"
#include "storage/storage.hpp"

namespace sluice::layout::hdf5 {

/// Attributes of /sluice in a part.
inline constexpr const char* set_id_name = "set_id";
inline constexpr const char* part_id_name = "part_id";
inline constexpr const char* index_path_name = "index";
/// The words of PartSet, in an index.
inline constexpr const char* parts_name = "sluice/parts";

/// The set that an open file indexes; empty for an ordinary file. `file_bytes` limits what a
/// damaged file may claim.
std::optional<PartSet> read_set(hid_t file, const std::string& path, std::uint64_t file_bytes);

/// The same for any file: empty if it is not an HDF5 file of Sluice.
std::optional<PartSet> read_set(storage::File& file);

/// The identity of a part.
struct PartIdentity {
  std::uint64_t set_id = 0;
  std::uint64_t part_id = 0;
  std::string index_path;  ///< absolute, of the index for which it was made
  std::uint64_t commits = 0;
  std::int64_t stamp_ns = 0;  ///< of the requested commit; 0 if it has fewer
};

/// Reads only the log of a part. `commit`: the commit whose stamp is returned. Error format if
/// `file` is not a part that Sluice wrote, truncated if it is shorter than it says.
PartIdentity read_identity(storage::File& file, std::uint64_t commit);

}  // namespace sluice::layout::hdf5
