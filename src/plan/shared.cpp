// Every rank writes its own extents into the one file, independently.
#include "plan/plan.hpp"

namespace sluice::plan {

Plan plan_shared(const Input& input) {
  Plan plan;
  plan.strategy = "shared";
  plan.flow = Flow::own;
  plan.buffer_bytes = 2 * layout::portion_bytes;
  plan.transfers.push_back(everything_to(input.topology.rank, input));
  return plan;
}

}  // namespace sluice::plan
