// Rank 0 writes everything; the others feed it in turn through a bounded buffer.
#include <numeric>

#include "plan/plan.hpp"

namespace sluice::plan {

Plan plan_serial(const Input& input) {
  constexpr int writer = 0;
  Plan plan;
  plan.strategy = "serial";
  plan.flow = Flow::in_turn;
  plan.buffer_bytes = 2 * layout::portion_bytes;
  plan.transfers.push_back(everything_to(writer, input));
  if (input.topology.rank == writer) {
    plan.feeders.resize(static_cast<std::size_t>(input.topology.ranks - 1));
    std::iota(plan.feeders.begin(), plan.feeders.end(), 1);
  }
  return plan;
}

}  // namespace sluice::plan
