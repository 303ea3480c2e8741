// From plans to programs: src/plan makes the plan of every rank as in production, and what src/exec
// would do to execute it becomes the rank's program on a model machine.
//
// Left out: packing (blocks are in memory as the file wants them), the bytes of the format's
// metadata (only their syncs are modelled), retries and failures.
#pragma once

#include <string>

#include "sim/job.hpp"
#include "sim/machine.hpp"
#include "sim/program.hpp"
#include "sluice/options.hpp"

namespace sluice::sim {

/// How a job writes; the fields are named as the options.
struct Choice {
  std::string strategy = Options{}.strategy;
  bool may_be_several = false;  ///< files = "allow_multiple"
  plan::WriterChoice who = {};  ///< tile_bytes 0: the stripe
  bool is_direct = false;       ///< storage
  bool is_synced = true;        ///< durability: step
  bool has_checksums = true;
  /// Neither agreement nor publication: the view of a code that times only its write calls.
  bool is_only_data = false;
  /// For a set of files: the strategy by which the ranks of a part write it; empty: the default.
  std::string in_parts = {};
};

/// The properties of the machine that production would query.
struct MachineFacts {
  std::uint64_t stripe_bytes = 0;
  plan::MachineRates rates = {};  ///< used by `auto` only
};

/// What production would detect on a machine of the model.
MachineFacts facts_of(const Machine& machine);

/// The totals over the plans of all ranks.
struct Compiled {
  Programs programs;
  std::string strategy;  ///< the choice of `auto`, else the requested strategy
  std::uint64_t writers = 0;
  std::uint64_t files = 0;
  std::uint64_t data_bytes = 0;   ///< of all variables
  std::uint64_t other_bytes = 0;  ///< checksum records
  std::uint64_t largest_buffer_bytes = 0;
};

/// The limit of barrier calls in the programs of all ranks together.
inline constexpr std::uint64_t most_barriers = 10'000'000;

/// One commit of `job`: opens (before its begin), writes, agrees, publishes. The Errors of
/// production for an impossible choice; Error unsupported for one with more than most_barriers.
Compiled compile(const Job& job, const Choice& choice, const MachineFacts& facts);

}  // namespace sluice::sim
