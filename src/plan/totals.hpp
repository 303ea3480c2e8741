// What executing a plan amounts to, for SLUICE_EXPLAIN.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "plan/plan.hpp"

namespace sluice::plan {

/// Of one rank, or of all ranks together: sums, except buffer_bytes, which is the largest.
struct Totals {
  std::uint64_t files = 0;          ///< files that this rank counts
  std::uint64_t writers = 0;        ///< 1 where it writes data
  std::uint64_t moved_bytes = 0;    ///< of data to other ranks
  std::uint64_t written_bytes = 0;  ///< of its own data, by any rank
  std::uint64_t buffer_bytes = 0;

  /// Of another part of the same rank's data, or of another rank.
  Totals& operator+=(const Totals& other);
};

/// Called on every rank with its own totals, once a commit. Collective. Of one file, before what is
/// not compressed is written; of a set of parts, when the groups have made, and where the ranks
/// wait carried out, their plans, and before the index is written.
using Explain = std::function<void(const Totals&)>;

/// The totals of a rank's own portions. `placement_of` gives the placement of a portion of the
/// rank.
Totals totals_of(
    const Plan& plan, const Input& input,
    const std::function<const layout::Placement&(const layout::Portion&)>& placement_of);

/// "512 bytes", "1.5 MiB".
std::string size_text(std::uint64_t bytes);

/// "1 file, 2 of 8 ranks write, 12.0 MiB moved, ..."
std::string text_of(const Totals& all, int ranks);

}  // namespace sluice::plan
