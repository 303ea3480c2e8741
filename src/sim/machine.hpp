// A machine of the model: a table of constants, each with its source.
//
// Invariants: every constant of the table has a value and a source, or is optional and 0; at most
// most_fitted constants of a machine were fitted to figures that the model is then compared with.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sluice::sim {

enum class Source : std::uint8_t {
  published,  ///< by the manufacturer or the computing centre
  paper,      ///< in the paper that the machine is compared with
  measured,   ///< on such a machine, by this project
  fitted,     ///< chosen to reproduce a figure
  guess,      ///< typical of machines of its kind
};

struct Constant {
  double value = 0;
  Source source = Source::guess;
};

inline constexpr int most_fitted = 4;

/// Size: A table of constants.
struct Machine {
  std::string name;
  std::string about;

  // -- a node -------------------------------------------------------------------------------------
  Constant cores_per_node;
  Constant copy_bytes_per_s;    ///< one process into the cache of its node
  Constant memory_bytes_per_s;  ///< all processes of a node together
  // -- the network --------------------------------------------------------------------------------
  Constant link_bytes_per_s;  ///< of a node, each way
  Constant latency_s;
  Constant message_s;  ///< the work of the receiving node for a message
  Constant barrier_s;  ///< of a collective call of two ranks; times log2 of the ranks
  // -- a node's way to the file system ------------------------------------------------------------
  Constant stream_bytes_per_s;  ///< of one process to the servers
  Constant drain_bytes_per_s;   ///< of a node
  Constant dirty_bytes;         ///< written but still on the node, for one target
  Constant request_bytes;       ///< in flight to a target at a time
  Constant rpc_s;               ///< round trip to a server
  Constant process_clients;     ///< 1: each process has its own cache and locks; optional
  // -- the file system ----------------------------------------------------------------------------
  Constant targets;
  Constant target_bytes_per_s;
  Constant request_s;  ///< of a target for a request of any size
  Constant stripes;    ///< of a file
  Constant stripe_bytes;
  Constant lock_callback_s;  ///< to take a stripe from another client
  Constant handover_s;       ///< the part of that for which the target's lock server is busy;
                             ///< optional
  Constant locks_requests;   ///< 1: all stripes of a request together; optional
  /// Bytes that a target reads for each byte of a partial stripe, at most the rest of it; optional.
  Constant part_read;
  Constant touch_s;       ///< of a target, between the first requests of two nodes
  Constant opens_per_s;   ///< of the metadata server
  Constant sync_s;        ///< until arrived data is on stable storage
  Constant interference;  ///< share of a target that others use: 0 to this, by the seed

  /// Work of a code on this machine before its bytes are written ("collate_s_per_byte", for
  /// example).
  std::map<std::string, Constant> code;

  /// The constant of a code. Error not_found names it.
  double of_code(const std::string& key) const;
};

/// Name and member of a constant, for code that reads, lists or changes all of them.
struct ConstantName {
  const char* name;
  Constant Machine::*place;
  bool is_optional = false;  ///< 0 if a machine does not have it
};
std::span<const ConstantName> constant_names();

/// The constants of `machine` that were fitted, by name; those of codes as "code.NAME".
std::vector<std::string> fitted_constants(const Machine& machine);
/// The constant of that name. Error invalid_argument if there is none.
Constant& constant_of(Machine& machine, const std::string& name);

/// Reads a machine. `from` names the text in messages. Error format, with the line, if it is not
/// TOML; Error invalid_argument if a constant is missing, unknown, not positive or without a
/// source, or if more than most_fitted are fitted.
Machine read_machine(const std::string& text, const std::string& from);

/// The machines that come with the library, by name ("archer", "jaguar", ...), ascending.
std::vector<std::string> machine_names();
/// One of them. Error not_found lists the names.
Machine machine_named(const std::string& name);

/// As compiled in from share/machines: pairs of name and TOML text.
struct MachineText {
  const char* name;
  const char* text;
};
std::span<const MachineText> machine_texts();

}  // namespace sluice::sim
