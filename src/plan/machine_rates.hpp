// The machine under a run, as far as it matters to who should write: what `auto` compares by.
//
// Invariant: values, the same on every rank; nothing here asks the operating system.
#pragma once

#include <cstdint>
#include <string>

#include "model/file_system.hpp"

namespace sluice::plan {

/// Rates and times, in bytes and seconds.
/// Size: A table of constants.
struct MachineRates {
  std::string kind = {};
  model::Reach reach = model::Reach::unknown;
  // -- a node -------------------------------------------------------------------------------------
  double exchange_bytes_per_s = 1;       ///< of one core: packed, handed over and put in its place
  double exchange_most_bytes_per_s = 1;  ///< of a node
  int cores = 1;
  double link_bytes_per_s = 1;  ///< of a node, each way
  double barrier_s = 0;         ///< a collective call of two ranks; times log2 of the ranks
  // -- the way to the file system -----------------------------------------------------------------
  double stream_bytes_per_s = 1;  ///< what one process gets
  double drain_bytes_per_s = 1;   ///< what a node gets
  double file_bytes_per_s = 1;    ///< what all get that write one file
  double files_bytes_per_s = 1;   ///< what all get that write a file each
  double file_s = 0;              ///< of every file of a set: at the metadata server, in the index
  double in_flight = 1;           ///< requests of a process that are on their way at a time
  double call_s = 0;              ///< of a write that is too short to be left to a thread
  double short_bytes_per_s = 1;   ///< of such writes, besides: they wait for the disk
  double sync_s = 0;
  // -- stripes ------------------------------------------------------------------------------------
  std::uint32_t stripes = 0;  ///< of a file; 0: there are none to share or to queue at
  std::uint32_t servers = 0;  ///< over which several files are dealt
  std::uint64_t stripe_bytes = 0;
  bool locks_processes = false;  ///< a process is a client of its own; else a node is one
  double rpc_s = 0;              ///< of a request for a stripe, besides the server's work
  double lock_s = 0;             ///< a stripe that goes from one writer to another
  double touch_s = 0;  ///< of a server, from one node that comes for the first time to the next
};

/// A machine with such a file system and so many cores a node, by constants that were measured
/// where a development machine has such a file system (memory, node) and are common ones elsewhere.
MachineRates rates_of(const model::FileSystemFacts& facts, int cores);

}  // namespace sluice::plan
