// verify: files of HDF5 programs under Sluice's driver, by the checksums of their blocks.
#pragma once

#include <optional>
#include <string>

#include "commit/tools/verify.hpp"
#include "verb.hpp"

namespace sluice::cli {

struct BlockVerdict {
  /// Is there a table of checksums, but not of the file as it is now?
  bool is_stale = false;
  std::optional<commit::Verdict> verdict;  ///< empty where no table is of the file
};

/// Collective; the same on every rank. Errors: those of opening and reading the file.
BlockVerdict verify_blocks(const Context& context, const std::string& path,
                           const commit::VerifyProgress& progress);

}  // namespace sluice::cli
