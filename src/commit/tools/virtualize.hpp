// References to the chunks of a file: with them readers of Zarr open it without a copy.
//
// Invariant: what is referred to is the last durable commit, and no data is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/storage.hpp"

namespace sluice::commit {

struct Virtualized {
  std::string text;  ///< the reference file: JSON of kerchunk, version 1
  std::uint64_t variables = 0;
  std::uint64_t chunks = 0;
  /// What no reference can say: a name, and why.
  std::vector<std::pair<std::string, std::string>> left_out;
};

/// On one rank. `url`: how the references name the file. Error unsupported for a set of parts, for
/// a store, and for formats whose values are no arrays of numbers.
Virtualized virtualize(storage::Storage& storage, const std::string& path, const std::string& url);

}  // namespace sluice::commit
