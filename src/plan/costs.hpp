// Closed formulas of the time to write, shared by the strategies' own formulas.
//
// Pure functions of the rates, the load and the number of writers.
#pragma once

#include "plan/auto.hpp"

namespace sluice::plan {

/// The amount that a commit writes, and who writes it.
struct Load {
  double bytes = 0;  ///< of all ranks together
  double run_bytes = 1;
  double ranks = 1;
  double nodes = 1;
};

Load load_of(const Input& input);
/// Seconds that `writers` need to write and sync. `is_apart`: no two of them use the same server.
double write_s(const MachineRates& rates, const Load& load, double writers, bool is_apart);
/// A run that ends inside a stripe transfers the stripe to the neighbour's client, and each of
/// `clients` that write one file needs the stripe of its checksums.
double locks_s(const MachineRates& rates, const Load& load, double clients);

}  // namespace sluice::plan
