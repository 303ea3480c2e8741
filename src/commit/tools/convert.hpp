// Rewrites a file: in another format, or with another compression, on all ranks together.
//
// Invariants: every rank reads its rows and writes them. What a rank holds of a step, or of fixed
// variables at a time, stays within the budget; more is read portion by portion while it is
// written. The new file gets its name when it is complete: a conversion that fails leaves nothing.
// Everything that is dropped is listed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "commit/tools/collect.hpp"
#include "commit/tools/step_choice.hpp"
#include "exec/transport/transport.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

struct Conversion {
  std::string from;
  std::string to;  ///< must not exist
  Options options = {};
  /// For every variable that is large enough; without it each keeps its own.
  std::optional<std::string> compress = {};
  /// The new file has this step alone (negative: from the end), as variables without steps.
  std::optional<std::int64_t> only_step = {};
  /// The new file has these steps of the old one; without it all. Not beside only_step.
  std::optional<StepRange> steps = {};
  /// The new file has these variables and their coordinates (VariableChoice); empty: all.
  std::vector<std::string> variables = {};
};

struct Converted {
  std::uint64_t variables = 0;
  std::uint64_t steps = 0;
  std::uint64_t bytes = 0;  ///< of data, before any compression
  /// Variables whose dimension names cannot be kept in the format of the new file.
  std::vector<std::string> unnamed = {};
  /// What the new file lacks of the old one, each with its reason. On rank 0.
  std::vector<std::string> left_out = {};
  /// What the new file does not keep although all values are there, as text.
  std::vector<std::string> changes = {};
  /// Of the parts, where the old file is the index of a set.
  std::uint64_t part_bytes = 0;
};

/// Collective; the same result on every rank. Keeps attributes, times, fill values, names of
/// dimensions; checksums are checked on the way. From HDF5 to plain HDF5 it keeps everything else
/// too: what Sluice does not encode is copied by libhdf5, and links stay links. That is not so
/// where steps or variables are chosen. The parts of VTK's data sets stay. Errors: those of reading
/// `from` and of writing, unsupported if the format of `to` cannot hold something, not_found or
/// out_of_bounds for variables or steps that are not there.
Converted convert(exec::Transport& transport, storage::Storage& storage, const Conversion& wanted,
                  const CopyProgress& progress = {});

}  // namespace sluice::commit
