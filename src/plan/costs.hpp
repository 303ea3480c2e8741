// Closed formulas of what writing takes, which the strategies' own formulas share.
//
// Pure: of the rates, the load and the number of writers.
#pragma once

#include "plan/auto.hpp"

namespace sluice::plan {

/// What a commit writes, and who.
struct Load {
  double bytes = 0;  ///< of all ranks
  double run_bytes = 1;
  double ranks = 1;
  double nodes = 1;
};

Load load_of(const Input& input);
/// What `writers` take to write and sync. `is_apart`: no two of them meet at a server.
double write_s(const MachineRates& rates, const Load& load, double writers, bool is_apart);
/// A run that ends inside a stripe hands it to its neighbour, and of `clients` that write one file
/// each comes to the stripe of its checksums.
double locks_s(const MachineRates& rates, const Load& load, double clients);

}  // namespace sluice::plan
