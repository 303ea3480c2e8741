// A file written anew: in another format, or compressed in another way, on all ranks together.
//
// Every rank reads its rows and writes them. Memory: of a step a rank holds its share of all
// variables; fixed variables go one after the other as soon as they fill the budget.
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
  /// What the new file does not keep though all values are there, in words.
  std::vector<std::string> changes = {};
};

/// Collective; the same answer on every rank. Keeps attributes, times, fill values, names of
/// dimensions; checksums are checked on the way. `to` must not exist. `compress`: for every
/// variable that is worth it; without one each keeps its own. Errors: those of reading `from` and
/// of writing, unsupported where the format of `to` cannot hold something.
Converted convert(exec::Transport& transport, storage::Storage& storage, const std::string& from,
                  const std::string& to, const std::optional<std::string>& compress,
                  const Options& options, const CopyProgress& progress = {});

}  // namespace sluice::commit
