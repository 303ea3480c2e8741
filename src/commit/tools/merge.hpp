// Makes one plain file from a set of parts, on all ranks together.
//
// Each rank writes the blocks of its parts: part p belongs to rank p modulo their number. Blocks
// are read when they are written, 4 MiB at a time and with their checksums checked, so memory does
// not grow with the set; at most the open parts of one commit (commit/read/parts_input) are kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "commit/tools/collect.hpp"
#include "exec/transport/transport.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

struct Merged {
  std::uint64_t parts = 0;
  std::uint64_t steps = 0;
  std::uint64_t bytes = 0;  ///< of data
  /// Attributes that the format of the file cannot hold, and why.
  std::vector<std::string> left_out = {};
};

/// Collective; the same result on every rank. `to` must not exist, and does so when it is complete
/// and durable; until then it has another name, which the next merge replaces. `options`: of the
/// file that is written; its strategy must write a single file. Errors: exists; unsupported if
/// `index_path` is not an index; those of reading the set and of writing.
Merged merge(exec::Transport& transport, storage::Storage& storage, const std::string& index_path,
             const std::string& to, const Options& options, const CopyProgress& progress = {});

}  // namespace sluice::commit
