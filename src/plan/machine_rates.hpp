// The machine of a run, as far as it matters for who should write: the input of `auto`.
//
// Invariant: values, the same on every rank; nothing here calls the operating system.
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
  double exchange_bytes_per_s = 1;       ///< of one core: packing, sending and unpacking
  double exchange_most_bytes_per_s = 1;  ///< of a node, all cores together
  int cores = 1;
  double link_bytes_per_s = 1;  ///< of a node, each way
  double barrier_s = 0;         ///< of a collective call of two ranks; times log2 of the ranks
  // -- the way to the file system -----------------------------------------------------------------
  double stream_bytes_per_s = 1;  ///< of one process
  double drain_bytes_per_s = 1;   ///< of one node
  double file_bytes_per_s = 1;    ///< of all processes that write one file
  double files_bytes_per_s = 1;   ///< of all processes that write one file each
  double file_s = 0;              ///< for each file of a set: at the metadata server, in the index
  double in_flight = 1;           ///< requests of a process in flight at a time
  double call_s = 0;              ///< of a write that is too short for the writer thread
  double short_bytes_per_s = 1;   ///< of such writes, in addition: they wait for the disk
  double sync_s = 0;
  // -- stripes ------------------------------------------------------------------------------------
  std::uint32_t stripes = 0;  ///< of a file; 0: no stripes to share or to queue at
  std::uint32_t servers = 0;  ///< over which several files are distributed
  std::uint64_t stripe_bytes = 0;
  bool locks_processes = false;  ///< each process is a client; otherwise each node is one
  double rpc_s = 0;              ///< of a request for a stripe, in addition to the server's work
  double lock_s = 0;             ///< to transfer a stripe from one writer to another
  double touch_s = 0;            ///< of a server, between the first requests of two nodes
};

/// The rates of a machine with this file system and this number of cores a node, by constants that
/// were measured where a development machine has such a file system (memory, node) and are typical
/// ones elsewhere.
MachineRates rates_of(const model::FileSystemFacts& facts, int cores);

}  // namespace sluice::plan
