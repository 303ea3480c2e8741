// The settings of the MPI transport.
#pragma once

#include <cstddef>
#include <string>

namespace sluice::exec {

struct MpiOptions {
  double timeout_s = 1800;  ///< limit of one wait; 0: none
  int ranks_per_node = 0;   ///< simulated nodes of this many consecutive ranks; 0: ask MPI
  double grace_s = 1.0;     ///< after the limit, how long to wait for answers of the other ranks
  double say_after_s = 60;  ///< a longer wait is said on stderr; 0: none is
  std::string name = {};    ///< of what the transport is for, which is then said
  std::size_t part_bytes = std::size_t{1} << 30;  ///< a longer message is split; at most 2^30
  int sparse_from = 32;  ///< with this many ranks or more, exchange() sends to receivers only
  int tree_from = 17;    ///< with this many ranks or more, gather() goes along a tree
};

}  // namespace sluice::exec
