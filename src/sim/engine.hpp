// Runs the programs of all ranks on a model machine, event by event.
//
// Invariants: the same machine, programs and seed give the same result to the last bit; every byte
// that a program writes is written once; all programs finish, or Error internal names a rank that
// waits for an event that never comes.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/file_system.hpp"
#include "sim/machine.hpp"
#include "sim/program.hpp"

namespace sluice::sim {

struct RankTimes {
  double began_s = 0;
  double returned_s = -1;  ///< of the return to the caller; the end of the program if it does not
                           ///< return earlier
  double durable_s = 0;    ///< the rank's bytes are at the targets, and its program has ended
};

struct Outcome {
  std::vector<RankTimes> ranks;  ///< on one clock
  double returned_s = 0;         ///< the slowest rank, from its begin
  double durable_s = 0;          ///< from the first begin to the last end
  double busiest_target_s = 0;
  std::uint64_t moved_bytes = 0;  ///< between ranks
  std::uint64_t events = 0;
  Counts counts;
};

/// Deterministic. Memory grows with the ranks and the operations in flight, not with the bytes.
Outcome run_programs(const Machine& machine, const Programs& programs, std::uint64_t seed);

}  // namespace sluice::sim
