// A file written anew: in another format, or compressed in another way, on all ranks together.
//
// Invariants: every rank reads its rows and writes them. What a rank holds of a step, or of fixed
// variables at a time, stays within the budget; what is more is read portion by portion while it is
// written. The new file has its name when all of it is there: a conversion that fails leaves
// nothing. Nothing is dropped without being named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commit/tools/collect.hpp"
#include "exec/transport/transport.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

struct Converted {
  std::uint64_t variables = 0;
  std::uint64_t steps = 0;
  std::uint64_t bytes = 0;  ///< of data, before any compression
  /// Variables whose names of dimensions the format of the new file cannot hold.
  std::vector<std::string> unnamed = {};
  /// What of the old file the new one does not have, each with its reason. On rank 0.
  std::vector<std::string> left_out = {};
  /// What the new file does not keep though all values are there, in words.
  std::vector<std::string> changes = {};
};

/// Collective; the same answer on every rank. Keeps attributes, times, fill values, names of
/// dimensions; checksums are checked on the way. From HDF5 to plain HDF5 it keeps everything else
/// too: what is not Sluice's to encode is copied by libhdf5, and links stay links. `to` must not
/// exist. `compress`: for every variable that is worth it; without one each keeps its own. Errors:
/// those of reading `from` and of writing, unsupported where the format of `to` cannot hold
/// something.
Converted convert(exec::Transport& transport, storage::Storage& storage, const std::string& from,
                  const std::string& to, const std::optional<std::string>& compress,
                  const Options& options, const CopyProgress& progress = {});

}  // namespace sluice::commit
