// Checks whether a disk after a crash is as docs/durability.md promises.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "crash/scenario.hpp"

namespace sluice::test {

struct OracleCounts {
  std::uint64_t disks = 0;      ///< checked, without those seen before
  std::uint64_t repeated = 0;   ///< seen before, with the same requirements
  std::uint64_t plain_old = 0;  ///< plain libhdf5 saw the step before
  std::uint64_t plain_new = 0;  ///< it saw the new one
  std::uint64_t plain_refused = 0;
  std::uint64_t replayed = 0;        ///< recovery had something to do
  std::uint64_t second_crashes = 0;  ///< disks that a crash inside recovery left
  std::uint64_t appended = 0;        ///< disks on which a run went on afterwards
  std::uint64_t in_flight = 0;       ///< disks while more than one commit was on its way

  /// Disks and second crashes.
  std::uint64_t images() const { return disks + second_crashes; }

  OracleCounts& operator+=(const OracleCounts& other);
};

struct OracleOptions {
  DiskLimits limits;
  std::uint64_t append_every = 40;       ///< continue writing on every Nth disk
  std::uint64_t second_crash_every = 4;  ///< crash again in every so-manieth replay
  DiskLimits second_limits{.all_up_to = 6, .random = 8, .pairs = 20, .torn = 4};
  std::size_t most_violations = 5;  ///< stop then
  std::uint64_t most_disks = ~std::uint64_t{0};
  Wrap wrap_recovery;  ///< around the storage that recovery uses
};

struct Findings {
  OracleCounts counts;
  std::vector<std::string> violations;
};

/// Visits the disks of a recorded run and checks every requirement of the protocol on them.
Findings examine(const Recording& recording, Reach reach, const OracleOptions& options);

}  // namespace sluice::test
