// The record of a program's MPI-IO (SLUICE_MPIIO_RECORD) as a run that plan can describe.
#pragma once

#include <string>

#include "sim/job.hpp"

namespace sluice::cli {

/// Of a run that is planned: about 1.2 KB of memory each.
inline constexpr int most_planned_ranks = 1 << 21;

/// What the series of files with most bytes was.
struct Recorded {
  sim::Job job;         ///< its ranks, and what they wrote at each step
  double period_s = 0;  ///< between two steps, without the writing
  std::string about;    ///< a sentence
  /// What the description leaves out; empty: nothing.
  std::string left_out;
};

/// Errors: invalid_argument for a text that is no such record, or one of a run without collective
/// writes; `name` is that of its file.
Recorded read_record(const std::string& text, const std::string& name);

}  // namespace sluice::cli
