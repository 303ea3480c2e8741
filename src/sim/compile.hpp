// From plans to programs: every rank's plan is made by src/plan as production makes it, and what
// src/exec would do to carry it out becomes the rank's program on a model machine.
//
// What is left out: packing (blocks lie in memory as the file wants them), the bytes of the
// format's metadata (only their syncs), retries and failures.
#pragma once

#include <string>

#include "sim/job.hpp"
#include "sim/machine.hpp"
#include "sim/program.hpp"
#include "sluice/options.hpp"

namespace sluice::sim {

/// How a job writes, in the words of the options of the same names.
struct Choice {
  std::string strategy = Options{}.strategy;
  bool may_be_several = false;  ///< files: any
  plan::WriterChoice who = {};  ///< tile_bytes 0: the stripe
  bool is_direct = false;       ///< storage
  bool is_synced = true;        ///< durability: step
  bool has_checksums = true;
  /// Neither agreement nor publication: what a code sees that times only its calls to write.
  bool is_only_data = false;
  /// Of a set of files: the strategy by which the ranks of a part write it; empty: its own.
  std::string in_parts = {};
};

/// What of the machine production would ask for.
struct MachineFacts {
  std::uint64_t stripe_bytes = 0;
  plan::MachineRates rates = {};  ///< looked at by `auto` only
};

/// What production would find out of a machine of the model.
MachineFacts facts_of(const Machine& machine);

/// What the plans of all ranks came to.
struct Compiled {
  Programs programs;
  std::string strategy;  ///< what `auto` chose, else the one that was asked for
  std::uint64_t writers = 0;
  std::uint64_t files = 0;
  std::uint64_t data_bytes = 0;   ///< of all variables
  std::uint64_t other_bytes = 0;  ///< checksum records
  std::uint64_t largest_buffer_bytes = 0;
};

/// The most calls to barriers of all ranks' programs together.
inline constexpr std::uint64_t most_barriers = 10'000'000;

/// One commit of `job`: opens (before its begin), writes, agrees, publishes. The same Errors as in
/// production for a choice that cannot be; Error unsupported for one with more than most_barriers.
Compiled compile(const Job& job, const Choice& choice, const MachineFacts& facts);

}  // namespace sluice::sim
