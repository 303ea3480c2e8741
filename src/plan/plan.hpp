// Who moves and writes what: the strategies.
//
// A plan is data. Making one is a pure function of a rank's own portions and the topology: no I/O,
// no messages, O(own portions); no rank needs to know another's blocks. The same plan is carried
// out over MPI in production and over the local transport in tests.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "layout/portion.hpp"

namespace sluice::plan {

struct Topology {
  int rank = 0;
  int ranks = 1;
  int node = 0;
  int nodes = 1;
};

/// Portions that go to one writer, in the order in which they are sent or written.
struct Transfer {
  int writer = 0;
  std::vector<std::uint32_t> portions;  ///< indices into the rank's list
  std::uint64_t bytes = 0;              ///< packed
};

/// How bytes flow to a writer that is not their owner.
enum class Flow : std::uint8_t {
  own,      ///< every rank writes its own portions; nothing is sent
  in_turn,  ///< the feeders send one after the other, each through a bounded buffer
};

struct Plan {
  std::string strategy;
  Flow flow = Flow::own;
  std::vector<Transfer> transfers;  ///< of this rank; at most one a writer
  std::vector<int> feeders;         ///< ranks whose bytes this rank writes, in order; not itself
  std::uint64_t buffer_bytes = 0;   ///< largest staging that carrying it out needs on this rank

  /// One line a transfer, for debugging and SLUICE_EXPLAIN.
  std::string text() const;
};

/// Which ranks write, where the strategy leaves a choice (the options of the same names).
struct WriterChoice {
  int writers = 0;
  int first_writer = 0;
  int writer_spacing = 0;
  std::string writer_map = "spaced";
  bool cyclic = false;           ///< tile t belongs to writer t mod writers; else contiguous runs
  std::uint64_t tile_bytes = 0;  ///< 0: the strategy's default
};

struct Input {
  Topology topology;
  std::span<const layout::Portion> portions;
  std::span<const std::uint64_t> portion_sizes;  ///< packed bytes, one a portion
};

/// A strategy: its name, which ranks open the file for writing, and the plan it makes.
struct Strategy {
  const char* name;
  bool (*writes)(const Topology&);
  Plan (*plan)(const Input&);
};

Plan plan_serial(const Input& input);
Plan plan_shared(const Input& input);

/// The strategy of that name; "auto" is resolved here. Error invalid_argument lists the names.
const Strategy& strategy(const std::string& name);

/// All of `input`'s portions as one transfer to `writer`.
Transfer everything_to(int writer, const Input& input);

}  // namespace sluice::plan
